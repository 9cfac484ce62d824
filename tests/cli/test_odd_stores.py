"""A store in which something is not what it should be: no command ends as a whole, and none is silent about it."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.store.test_store import tiny_disk

from ordinate.store import open_store
from ordinate.store.files import LARGEST
from ordinate.training import rerun_command

from .conftest import Program
from .test_store import SETTINGS, carry_out, checked, compared, report, whole

__all__ = ["compared", "whole"]


FAR = json.dumps(dict(pid=1, token="x", started="1", host="far", boot="another", namespace="n"))  # who holds a claim


def first(store: Path) -> Path:
    return open_store(store).runs()[0].folder


def command_of(study: Path) -> list[str]:
    """The command that started a study, changed to run in one process."""
    return [*shlex.split(json.loads((study / "study.json").read_text())["command"])[1:], "--workers", "0"]


@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_a_run_that_may_not_be_read_takes_no_other_with_it(ordinate: Program, compared: Path, mode: int) -> None:
    run = first(compared)
    other = open_store(compared).runs()[1].folder / "result.json"
    other.write_text("[]")
    run.chmod(mode)
    message = f"runs/{run.name} cannot be read: Permission denied"
    shown = ordinate("report", "--store", "runs", "--format", "json", ordinary=True)
    assert shown.code == 0 and message in json.loads(shown.out)["failures"][run.name]
    listed = ordinate("status", "--store", "runs", ordinary=True)
    assert listed.code == 1 and f"runs/{run.name}" in listed.err and "Permission denied" in listed.err
    assert listed.out.count("\n") == 3 and "Errno" not in listed.err
    done = ordinate("store", "check", "--repair", "--store", "runs", ordinary=True)
    assert done.code == 1 and f"runs/{run.name}" in done.out and "Errno" not in done.out + done.err
    assert f"runs/{run.name} was left where it is: " in done.err and done.err.count("\n") == 1
    assert f"moved runs/{other.parent.name} to runs/damaged/{other.parent.name}-1" in done.out
    assert f"{other.parent.name} will be done again by  ordinate compare" in done.out, "the one that was moved alone"
    packed = ordinate("store", "pack", "all.zip", "--store", "runs", ordinary=True)
    assert packed.code == 0 and packed.err.startswith(f"ordinate: left out runs/{run.name} (")
    run.chmod(0o755)


def test_studies_that_may_not_be_read_are_one_fault(ordinate: Program, compared: Path) -> None:
    (compared / "studies").chmod(0)
    done = ordinate("store", "check", "--store", "runs", ordinary=True)
    assert done.code == 1 and "  runs/studies cannot be read: Permission denied\n" in done.out and done.err == ""
    for words in (("report",), ("store", "pack", "all.zip", "aaa")):
        shown = ordinate(*words, "--store", "runs", ordinary=True)
        assert (shown.code, shown.err) == (2, "ordinate: runs/studies cannot be read: Permission denied\n")
    (compared / "studies").chmod(0o755)


def block(path: Path, how: str) -> None:
    """Something else in the place of a part of a report."""
    if how == "folder":
        path.mkdir()
    elif how == "file":
        path.touch()
    else:
        path.symlink_to("elsewhere")


@pytest.mark.parametrize(("name", "how"), [("report.html", "folder"), ("tables", "file"), ("figures", "link")])
def test_what_came_out_is_told_even_if_no_page_can_be_written(
    ordinate: Program, compared: Path, name: str, how: str
) -> None:
    (study,) = (compared / "studies").iterdir()
    command = command_of(study)
    assert sorted(path.name for path in study.iterdir() if path.name[0] != ".") == ["study.json"]
    block(study / name, how)
    done = ordinate(*command, "--store", "runs")
    assert done.code == 2 and "binary_majority" in done.out and "rope" in done.out
    assert f"ordinate: runs/studies/{study.name}/{name} " in done.err.splitlines()[-1]
    code, found = checked(ordinate, "--repair")
    assert code == 1 and list(found["moved"]) == [f"runs/studies/{study.name}/{name}"]
    again = ordinate(*command, "--store", "runs")
    assert again.code == 0 and again.out == done.out and (study / "report.html").is_file()


def test_files_of_gigabytes_are_named_and_not_read(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    for name in ("config.json", "result.json", "env.json"):
        before = (run / name).read_bytes()
        os.truncate(run / name, 2**33)
        code, found = checked(ordinate)
        (fault,) = found["damaged"]
        assert code == 1 and fault["problem"].startswith(f"runs/{run.name}/{name} is damaged (8,589,934,592 byt")
        (run / name).unlink()
        (run / name).write_bytes(before)
    (compared / "table.jsonl").touch()
    os.truncate(compared / "table.jsonl", 2**33)
    listed = ordinate("status", "--store", "runs", "--json")
    assert listed.code == 0 and len(json.loads(listed.out)) == 4
    assert (compared / "table.jsonl").stat().st_size < LARGEST
    (run / "result.json").unlink()
    os.truncate(run / "metrics.jsonl", 2**33)
    assert "(line " in ordinate("status", "--store", "runs").err


def test_links_are_named_by_all(ordinate: Program, compared: Path, tmp_path: Path) -> None:
    """No command follows them: their targets do not belong to the store."""
    run, (study,) = first(compared), (compared / "studies").iterdir()
    for folder in (run, study):
        folder.rename(tmp_path / folder.name)
        folder.symlink_to(tmp_path / folder.name)
    messages = {path: f"runs/{path} is a link, which is not followed" for path in (run.name, f"studies/{study.name}")}
    code, found = checked(ordinate)
    assert code == 1 and {item["path"] for item in found["damaged"]} == {f"runs/{path}" for path in messages}
    assert all(item["problem"].removeprefix("runs/").startswith(item["path"][5:]) for item in found["damaged"])
    listed = ordinate("status", "--store", "runs")
    assert listed.code == 1 and messages[run.name] in listed.err and listed.out.count("\n") == 4
    shown = ordinate("report", "--store", "runs")
    assert shown.code == 2 and messages[f"studies/{study.name}"] in shown.err
    packed = ordinate("store", "pack", "all.zip", "--store", "runs")
    assert packed.code == 0 and packed.err.count("(a link, which is not followed)") == 2


def test_a_linked_result_is_left_out_with_its_run_and_an_unread_report_alone(
    ordinate: Program, compared: Path, tmp_path: Path
) -> None:
    run, (study,) = first(compared), (compared / "studies").iterdir()
    (run / "result.json").rename(tmp_path / "result.json")
    (run / "result.json").symlink_to(tmp_path / "result.json")
    (study / "report.html").touch(mode=0)
    (run.parent / "notes").mkdir()
    packed = ordinate("store", "pack", "all.zip", "--store", "runs", ordinary=True)
    assert packed.code == 0 and packed.err.splitlines() == [
        f"ordinate: left out runs/{run.name} (result.json: a link, which is not followed)",
        f"ordinate: left out runs/studies/{study.name}/report.html (no file that can be read)",
    ]
    assert ordinate("store", "unpack", "all.zip", "--store", "new").out == "new: 3 runs and 1 study\n"


def test_a_study_without_its_request_is_told_of(ordinate: Program, compared: Path) -> None:
    (study,) = (compared / "studies").iterdir()
    (study / "report.html").touch()
    (study / "study.json").unlink()
    done = ordinate("report", "--store", "runs")
    assert done.code == 2 and f"runs/studies/{study.name} is damaged (it has no study.json)" in done.err


def test_no_temporary_name_is_told(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    (run / "result.json").unlink()
    (run / "env.json").unlink()
    (run / "env.json").mkdir()
    command = shlex.split(rerun_command.command(open_store(compared).run(run.name).config) or "")[1:]
    done = ordinate(*command, "--store", "runs")
    assert done.code == 2 and f"{run.name}/env.json is a folder, where a file belongs: move it away" in done.err
    (run / "env.json").rmdir()
    (run / ".lock").touch()
    run.chmod(0o555)
    done = ordinate(*command, "--store", "runs", ordinary=True)
    run.chmod(0o755)
    assert done.code == 1 and f"Permission denied (runs/{run.name}/claim)" in done.err and ".tmp" not in done.err


def test_a_command_is_told_only_if_it_is_the_one_that_was_kept(ordinate: Program, compared: Path) -> None:
    (study,) = (compared / "studies").iterdir()
    content = (study / "study.json").read_text()
    (study / "study.json").write_text(content.replace("binary_majority --enc", "first_last --enc"))
    code, found = checked(ordinate, "--repair")
    assert code == 1 and list(found["moved"]) == [f"runs/studies/{study.name}"] and found["again"] == {}


def test_where_a_run_was_made_is_no_reason_to_make_it_again(ordinate: Program, compared: Path) -> None:
    before, run = report(ordinate, "runs"), first(compared)
    (run / "env.json").write_text("{")
    code, found = checked(ordinate, "--repair")
    assert code == 1 and list(found["moved"]) == [f"runs/{run.name}/env.json"] and found["again"] == {}
    assert checked(ordinate)[0] == 0 and report(ordinate, "runs")["tasks"] == before["tasks"]


def test_a_claim_of_far_ahead_is_nobodys(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    (run / "result.json").unlink()
    (run / "claim").write_text(FAR)
    assert " running " in ordinate("status", "--store", "runs").out
    os.utime(run / "claim", (4e9, 4e9))
    assert " interrupted " in ordinate("status", "--store", "runs").out
    assert ordinate("store", "pack", "all.zip", "--store", "runs").err == ""


def test_a_folder_in_place_of_a_claim_is_named(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    (run / "result.json").unlink()
    (run / "claim").mkdir()
    (study,) = (compared / "studies").iterdir()
    command = command_of(study)
    done = ordinate(*command, "--store", "runs")
    assert done.code == 1 and f"runs/{run.name}/claim is a folder, where a file belongs" in done.err
    assert ".tmp" not in done.err and "Error:" not in done.err


def test_pack_and_unpack_tell_what_is_wrong_with_their_files(ordinate: Program, compared: Path, tmp_path: Path) -> None:
    done = ordinate("store", "pack", "none/all.zip", "--store", "runs")
    assert (done.code, done.err) == (2, "ordinate: none/all.zip cannot be written: there is no folder none\n")
    run = first(compared)
    (run / "result.json").unlink()
    with open_store(compared).run(run.name).claimed():
        for path in compared.iterdir():
            if path != run:
                path.rename(tmp_path / path.name)
        done = ordinate("store", "pack", "all.zip", "--store", "runs")
    message = f"nothing to pack in runs: left out runs/{run.name} (another process works on it)"
    assert (done.code, done.err) == (2, f"ordinate: {message}\n")


def test_a_study_is_packed_with_the_pilots_beyond_one_that_is_lost(ordinate: Program, tmp_path: Path) -> None:
    settings = {name: value for name, value in SETTINGS.items() if name != "lr"} | {"seeds": 1}
    carry_out(tmp_path / "runs", **settings, rates=[0.001, 0.002, 0.004])
    (study,) = (tmp_path / "runs" / "studies").iterdir()
    runs = open_store(tmp_path / "runs").runs()
    lost = next(run for run in runs if run.config["lr"] == 0.004)
    for path in lost.folder.iterdir():
        path.unlink()
    lost.folder.rmdir()
    assert ordinate("store", "pack", "one.zip", study.name, "--store", "runs").code == 0
    assert ordinate("store", "unpack", "one.zip", "--store", "new").out == f"new: {len(runs) - 1} runs and 1 study\n"


@pytest.mark.parametrize("name", ["result.json", "config.json", "model.safetensors"])
def test_a_run_with_a_folder_for_a_file_is_left_out(ordinate: Program, compared: Path, name: str) -> None:
    run, (study,) = first(compared), (compared / "studies").iterdir()
    (run / name).unlink()
    (run / name).mkdir()
    (study / "report.html").mkdir()
    for words in ((), (study.name,)):
        packed = ordinate("store", "pack", f"{len(words)}.zip", *words, "--store", "runs")
        assert packed.code == 0 and sorted(packed.err.splitlines()) == [
            f"ordinate: left out runs/{run.name} ({name}: no file that can be read)",
            f"ordinate: left out runs/studies/{study.name}/report.html (no file that can be read)",
        ]
        assert ordinate("store", "unpack", f"{len(words)}.zip", "--store", f"new{len(words)}").code == 0
        assert ordinate("store", "check", "--store", f"new{len(words)}").code == 0


def test_what_cannot_be_unpacked_is_not_packed(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    os.truncate(run / "result.json", LARGEST + 1)
    packed = ordinate("store", "pack", "all.zip", "--store", "runs")
    assert (
        packed.err == f"ordinate: left out runs/{run.name} (result.json: a document of more than {LARGEST:,} bytes)\n"
    )
    assert ordinate("store", "unpack", "all.zip", "--store", "new").out == "new: 3 runs and 1 study\n"


def test_a_run_that_is_a_link_to_nothing_is_named(ordinate: Program, compared: Path, tmp_path: Path) -> None:
    run, (study,) = first(compared), (compared / "studies").iterdir()
    run.rename(tmp_path / "kept")
    for target in ("nowhere", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        run.symlink_to(tmp_path / target)
        packed = ordinate("store", "pack", f"{target}.zip", study.name, "--store", "runs")
        assert packed.err == f"ordinate: left out runs/{run.name} (a link, which is not followed)\n"
        code, found = checked(ordinate)
        assert code == 1 and [item["path"] for item in found["damaged"]] == [f"runs/{run.name}"]
        run.unlink()


@pytest.mark.parametrize("how", ["link", "file", "unread"])
def test_a_folder_of_studies_that_is_none_is_named(ordinate: Program, compared: Path, tmp_path: Path, how: str) -> None:
    (study,) = (compared / "studies").iterdir()
    command = command_of(study)
    (first(compared) / "result.json").write_text("[]")
    if how == "unread":
        (compared / "studies").chmod(0)
    else:
        (compared / "studies").rename(tmp_path / "elsewhere")
        block(compared / "studies", how)
    for words in (["report"], command):
        done = ordinate(*words, "--store", "runs", ordinary=True)
        assert done.code in (1, 2) and "runs/studies" in done.err and "no study" not in done.err
    packed = ordinate("store", "pack", "all.zip", "--store", "runs", ordinary=True)
    assert packed.code == 0 and packed.err.startswith("ordinate: left out runs/studies (")
    done = ordinate("store", "check", "--repair", "--store", "runs", ordinary=True)
    assert done.code == 1 and "runs/studies " in done.out and f"moved runs/{first_moved(compared)} to" in done.out
    if how == "unread":
        (compared / "studies").chmod(0o755)


def first_moved(store: Path) -> str:
    """The run that was set aside."""
    return next(path.name for path in (store / "damaged").iterdir() if len(path.name) == 14).removesuffix("-1")


def test_a_file_named_like_a_study_is_told(ordinate: Program, compared: Path) -> None:
    (compared / "studies" / ("2" * 12)).touch()
    code, found = checked(ordinate)
    assert code == 1 and found["damaged"][0]["problem"].endswith("is named like a study and is none: move it away")


def test_repair_says_removed_of_what_it_removed_alone(ordinate: Program, compared: Path) -> None:
    one, two = (run.folder / "claim" for run in open_store(compared).runs()[:2])
    for path, date in ((one, 4e9), (two, 1e9)):
        path.write_text(FAR)
        os.utime(path, (date, date))
    done = ordinate("store", "check", "--repair", "--store", "runs")
    assert "died: 2 files; harmless, 1 removed" in done.out and not two.exists()
    message = f"ordinate: runs/{one.parent.name}/claim was left where it is: another process may work there\n"
    assert (done.code, done.err) == (0, message)


def test_a_clock_that_is_ahead_does_not_hide_a_holder(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    (run / "result.json").unlink()
    (run / "claim").write_text(FAR)
    os.utime(run / "claim", (time.time() + 3600, time.time() + 3600))
    assert " running " in ordinate("status", "--store", "runs").out


def test_what_is_kept_of_many_runs_is_no_reason_to_fail(ordinate: Program, compared: Path) -> None:
    run, (study,) = first(compared), (compared / "studies").iterdir()
    (run / "result.json").unlink()
    for path in (compared / "baselines").iterdir():
        path.unlink()
        path.mkdir()
    command = command_of(study)
    assert ordinate(*command, "--store", "runs").code == 0


def test_an_error_of_a_gigabyte_is_a_line(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    (run / "result.json").unlink()
    (run / "error.txt").touch()
    os.truncate(run / "error.txt", 2**30)
    listed = ordinate("status", "--store", "runs")
    assert listed.code == 0 and len(listed.out) < 10_000


def test_a_report_is_written_even_if_nobody_listens(ordinate: Program, compared: Path) -> None:
    (study,) = (compared / "studies").iterdir()
    command = command_of(study)
    line = shlex.join([sys.executable, "-m", "ordinate", *command, "--store", str(compared)])
    subprocess.run(f"{line} | true", shell=True, check=False, capture_output=True)
    assert (study / "report.html").is_file() and (study / "tables").is_dir()


def test_what_was_set_aside_says_where_it_was(ordinate: Program, compared: Path) -> None:
    run, (study,) = first(compared), (compared / "studies").iterdir()
    (run / "env.json").write_text("{")
    (study / "tables").touch()
    assert set(checked(ordinate, "--repair")[1]["moved"].values()) == {
        f"runs/damaged/{run.name}-env.json-1", f"runs/damaged/{study.name}-tables-1"
    }  # fmt: skip


@pytest.mark.parametrize("name", ["results.md", "pairs.tex"])
def test_no_report_is_written_through_a_link(ordinate: Program, compared: Path, tmp_path: Path, name: str) -> None:
    assert ordinate("report", "--store", "runs").code == 0
    (study,) = (compared / "studies").iterdir()
    table = study / "tables" / name
    table.unlink()
    table.symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("mine")
    for words in (["report"], command_of(study)):
        done = ordinate(*words, "--store", "runs")
        assert done.code == 2 and f"tables/{name} is a link, which is not followed: move it away" in done.err
    assert (tmp_path / "precious").read_text() == "mine"
    code, found = checked(ordinate, "--repair")
    assert code == 1 and list(found["moved"]) == [f"runs/studies/{study.name}/tables/{name}"]
    assert ordinate("report", "--store", "runs").code == 0 and table.is_file() and not table.is_symlink()


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl"])
def test_runs_whose_files_were_swapped_are_named(ordinate: Program, compared: Path, name: str) -> None:
    """The id of a run is the hash of its configuration, and every line of its journal names it."""
    one, two = (run.folder for run in open_store(compared).runs()[:2])
    if name == "metrics.jsonl":  # a finished run has its scores in its result
        for folder in (one, two):
            (folder / "result.json").unlink()
    contents = (one / name).read_bytes(), (two / name).read_bytes()
    for folder, content in zip((two, one), contents, strict=True):
        (folder / name).write_bytes(content)
    (compared / "table.jsonl").unlink(missing_ok=True)
    done = ordinate("status", "--store", "runs", "--json")
    assert done.code == 1 and {row["run"] for row in json.loads(done.out)}.isdisjoint({one.name, two.name})
    for folder, other in ((one, two), (two, one)):
        assert f"runs/{folder.name}/{name} is damaged (" in done.err and f"of run {other.name})" in done.err


def test_names_on_the_command_line_move_no_cursor(ordinate: Program, compared: Path, tmp_path: Path) -> None:
    escape = "x\x1b[31my"
    compared.rename(tmp_path / escape)
    document = ("report", "-o", f"{escape}.md", "--format", "md")
    commands = (
        document, ("report",), ("status",), ("store", "check"), ("store", "pack", f"{escape}.zip"),
        ("report", "nothing"), ("store", "unpack", f"{escape}.md"),
    )  # fmt: skip
    for words in commands:
        done = ordinate(*words, "--store", escape)
        assert "\x1b" not in done.out + done.err
    assert ordinate(*document, "--store", escape).out == "x\\x1b[31my.md\n"
    for words in (("status",), ("train", "binary_majority", "-e", "rope", "steps=1")):
        done = ordinate(*words, "--store", f"{escape}2")
        assert "\x1b" not in done.out + done.err


def test_a_full_disk_exits_with_1(ordinate: Program, compared: Path, tmp_path: Path) -> None:
    """A request that could not be carried out is no mistake of the user's."""
    for words in (("report",), ("report", "-o", "page.html"), ("store", "pack", "all.zip")):
        done = ordinate(*words, "--store", "runs", largest=1000)
        assert done.code == 1 and "File too large" in done.err and done.err.count("\n") == 1
    assert ordinate("store", "pack", "all.zip", "--store", "runs").code == 0
    done = ordinate("store", "unpack", "all.zip", "--store", "other", largest=1000)
    assert done.code == 1 and not (tmp_path / "other").exists()
    with tiny_disk(tmp_path / "full", "size=16k"):
        (tmp_path / "full" / "filler").write_bytes(b"x" * 2**14)
        for words in (
            ("report", "-o", "full/page.html", "--store", "runs"), ("store", "pack", "full/all.zip", "--store", "runs"),
            ("train", "k_back", "-e", "rope", "--store", "full"),
        ):  # fmt: skip
            done = ordinate(*words)
            assert done.code == 1 and "No space left on device" in done.err and done.err.count("\n") == 1
