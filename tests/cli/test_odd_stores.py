"""A store in which something is not what it should be: no command ends as a whole, and none is silent about it."""

import json
import os
import shlex
from pathlib import Path

import pytest

from ordinate.store import open_store
from ordinate.store.files import LARGEST
from ordinate.training import again

from .conftest import Program
from .test_store import SETTINGS, carry_out, checked, compared, report, whole

__all__ = ["compared", "whole"]


def first(store: Path) -> Path:
    return open_store(store).runs()[0].folder


@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_a_run_that_may_not_be_read_takes_no_other_with_it(ordinate: Program, compared: Path, mode: int) -> None:
    run = first(compared)
    other = open_store(compared).runs()[1].folder / "result.json"
    other.write_text("[]")
    run.chmod(mode)
    told = f"runs/{run.name} cannot be read: Permission denied"
    shown = ordinate("report", "--store", "runs", "--format", "json", ordinary=True)
    assert shown.code == 0 and told in json.loads(shown.out)["failures"][run.name]
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
    command = shlex.split(json.loads((study / "study.json").read_text())["command"])[1:]
    assert sorted(path.name for path in study.iterdir() if path.name[0] != ".") == ["study.json"]
    block(study / name, how)
    done = ordinate(*command, "--workers", "0", "--store", "runs")
    assert done.code == 2 and "binary_majority" in done.out and "rope" in done.out
    assert f"ordinate: runs/studies/{study.name}/{name} " in done.err.splitlines()[-1]
    code, found = checked(ordinate, "--repair")
    assert code == 1 and list(found["moved"]) == [f"runs/studies/{study.name}/{name}"]
    again = ordinate(*command, "--workers", "0", "--store", "runs")
    assert again.code == 0 and again.out == done.out and (study / "report.html").is_file()


def test_files_of_gigabytes_are_named_and_not_read(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    for name in ("config.json", "result.json", "env.json"):
        before = (run / name).read_bytes()
        os.truncate(run / name, 2**33)
        code, found = checked(ordinate)
        (fault,) = found["damaged"]
        assert code == 1 and fault["problem"].startswith(f"runs/{run.name}/{name} is damaged (it has 8,589,934,592 byt")
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
    """They are followed by none: what they lead to belongs to somebody else."""
    run, (study,) = first(compared), (compared / "studies").iterdir()
    for folder in (run, study):
        folder.rename(tmp_path / folder.name)
        folder.symlink_to(tmp_path / folder.name)
    told = {path: f"runs/{path} is a link, which is not followed" for path in (run.name, f"studies/{study.name}")}
    code, found = checked(ordinate)
    assert code == 1 and {item["path"] for item in found["damaged"]} == {f"runs/{path}" for path in told}
    assert all(item["problem"].removeprefix("runs/").startswith(item["path"][5:]) for item in found["damaged"])
    listed = ordinate("status", "--store", "runs")
    assert listed.code == 1 and told[run.name] in listed.err and listed.out.count("\n") == 4
    shown = ordinate("report", "--store", "runs")
    assert shown.code == 2 and told[f"studies/{study.name}"] in shown.err
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
    command = shlex.split(again.command(open_store(compared).run(run.name).config) or "")[1:]
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
    holder = dict(pid=1, token="x", started="1", host="far", boot="another", namespace="n")
    (run / "claim").write_text(json.dumps(holder))
    assert " running " in ordinate("status", "--store", "runs").out
    os.utime(run / "claim", (4e9, 4e9))
    assert " interrupted " in ordinate("status", "--store", "runs").out
    assert ordinate("store", "pack", "all.zip", "--store", "runs").err == ""


def test_a_folder_in_place_of_a_claim_is_named(ordinate: Program, compared: Path) -> None:
    run = first(compared)
    (run / "result.json").unlink()
    (run / "claim").mkdir()
    (study,) = (compared / "studies").iterdir()
    command = shlex.split(json.loads((study / "study.json").read_text())["command"])[1:]
    done = ordinate(*command, "--workers", "0", "--store", "runs")
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
    told = f"nothing to pack in runs: left out runs/{run.name} (somebody is at work on it)"
    assert (done.code, done.err) == (2, f"ordinate: {told}\n")


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
