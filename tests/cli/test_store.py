"""`ordinate store`: a store that is checked, repaired, packed and unpacked."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ordinate.cli.store import unpack as unpack_command
from ordinate.core.errors import InputError
from ordinate.store import Run, open_store
from ordinate.store.pack import pack
from ordinate.studies.compare import compare
from ordinate.training import baselines

from .conftest import Program

SETTINGS: dict[str, Any] = dict(
    seeds=2, workers=0, dim=8, heads=2, layers=1, steps=4, batch=8, lr=0.01, train_lengths=[3, 5], ood_lengths=[7],
    evaluation_sequences=20,
)  # fmt: skip


def carry_out(store: Path, **settings: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "SEQUENCES", 1000)
        compare("binary_majority", "rope,none", store=store, **(settings or SETTINGS))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one comparison of four runs."""
    store = tmp_path_factory.mktemp("whole") / "runs"
    carry_out(store)
    return store


@pytest.fixture
def compared(whole: Path, store: str) -> Path:
    """One to break."""
    shutil.copytree(whole, store)
    return Path(store)


def report(ordinate: Program, store: str) -> Any:
    done = ordinate("report", "--store", store, "--format", "json")
    assert done.code == 0
    return json.loads(done.out)


def checked(ordinate: Program, *options: str) -> tuple[int, Any]:
    done = ordinate("store", "check", "--store", "runs", "--json", *options)
    return done.code, json.loads(done.out)


def test_a_study_goes_into_a_file_and_comes_back(ordinate: Program, compared: Path) -> None:
    other = Run(compared / ("0" * 12))  # of no study
    shutil.copytree(open_store(compared).runs()[0].folder, other.folder)
    (study,) = (compared / "studies").iterdir()
    packed = ordinate("store", "pack", "one.zip", study.name[:4], "--store", "runs")
    assert packed.code == 0 and packed.out.startswith("one.zip: ")
    unpacked = ordinate("store", "unpack", "one.zip", "--store", "theirs")
    assert unpacked.code == 0 and unpacked.out == "theirs: 4 runs and 1 study\n"
    assert report(ordinate, "theirs") == report(ordinate, "runs")
    assert ordinate("store", "check", "--store", "theirs").code == 0
    assert ordinate("store", "pack", "all.zip", "--store", "runs").code == 0
    assert ordinate("store", "unpack", "all.zip", "--store", "whole").out == "whole: 5 runs and 1 study\n"
    for words, message in (
        (("pack", "one.zip"), "one.zip exists already: choose another name"),
        (("pack", "two.zip", "zzz"), "no study or comparison 'zzz' in runs"),
        (("unpack", "one.zip"), "runs exists already: unpack into a new folder"),
        (("unpack", "none.zip", "--store", "new"), "none.zip cannot be read: No such file"),
        (("check", "--store", "none"), "there is no folder none to check"),
    ):
        done = ordinate("store", *words)
        assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_a_study_goes_through_a_pipe(ordinate: Program, compared: Path, tmp_path: Path) -> None:
    """Standard output holds the archive and nothing else."""
    done = ordinate("store", "pack", "-", "--store", "runs")
    assert done.code == 0 and done.err == ""
    (tmp_path / "out").rename(tmp_path / "piped.zip")
    assert ordinate("store", "unpack", "piped.zip", "--store", "theirs").out == "theirs: 4 runs and 1 study\n"
    assert report(ordinate, "theirs") == report(ordinate, "runs") and not (tmp_path / "-").exists()


def test_a_pipe_can_be_unpacked(
    compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pack(open_store(compared), tmp_path / "packed.zip")
    with open(tmp_path / "packed.zip") as file:
        monkeypatch.setattr(sys, "stdin", file)
        unpack_command.run(Path("-"), tmp_path / "theirs")
        assert capsys.readouterr().out == f"{tmp_path / 'theirs'}: 4 runs and 1 study\n"
        with pytest.raises(InputError, match=r"^standard input is not a zip file"):  # it has been read to its end
            unpack_command.run(Path("-"), tmp_path / "more")


def test_a_report_goes_to_standard_output_by_any_name(ordinate: Program, compared: Path) -> None:
    expected = ordinate("report", "--store", "runs", "--format", "md").out
    assert expected.startswith("# Positional encodings compared")
    for name in ("-", "/dev/stdout", "/proc/self/fd/1"):
        assert ordinate("report", "--store", "runs", "--format", "md", "-o", name).out == expected


def test_status_names_a_run_without_its_configuration(ordinate: Program, compared: Path) -> None:
    run = open_store(compared).runs()[0]
    (run.folder / "config.json").unlink()
    done = ordinate("status", "--store", "runs", "--json")
    assert done.code == 1 and len(json.loads(done.out)) == 3
    assert done.err == f"ordinate: runs/{run.id} is damaged (it has no config.json): move it away\n"


def test_no_letter_of_a_stranger_moves_the_cursor(ordinate: Program, compared: Path) -> None:
    run = open_store(compared).runs()[0]
    text = (run.folder / "config.json").read_text()
    (run.folder / "config.json").write_text(text.replace('"binary_majority"', '"\\u001b[2Jmajority"'))
    study = next((compared / "studies").iterdir()) / "study.json"
    study.write_text(study.read_text().replace("ordinate compare", "ordinate \\u001b[2J compare"))
    for words in (("status",), ("report",), ("store", "check"), ("store", "check", "--repair")):
        done = ordinate(*words, "--store", "runs")
        assert done.code in (1, 2) and "is damaged" in done.out + done.err and "\x1b" not in done.out + done.err


def test_a_sound_store_is_told_to_be(ordinate: Program, compared: Path) -> None:
    done = ordinate("store", "check", "--store", "runs")
    assert (done.code, done.out, done.err) == (0, "4 runs and 1 study: 0 damaged\n", "")
    none: dict[str, Any] = {"damaged": [], "leftovers": [], "others": [], "moved": {}, "again": {}, "stayed": {}}
    assert checked(ordinate, "--repair") == (0, {"runs": 4, "studies": 1, **none})


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def test_what_is_damaged_is_set_aside_and_done_again(ordinate: Program, compared: Path) -> None:
    before = report(ordinate, "runs")
    one, two, three, four = (run.folder for run in open_store(compared).runs())
    cut(one / "model.safetensors")
    (two / "result.json").write_text((three / "result.json").read_text())
    lines = (three / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (three / "metrics.jsonl").write_bytes(b"".join([*lines, *lines]))  # as two processes would write it
    (four / "checkpoint.pt").touch()
    (compared / "studies" / ("f" * 12)).mkdir()
    (compared / "studies" / ("f" * 12) / "study.json").write_text("[]")
    code, found = checked(ordinate)
    assert code == 1 and found["leftovers"] == [f"runs/{four.name}/checkpoint.pt"]
    problems = {Path(item["path"]).name: item["problem"] for item in found["damaged"]}
    assert problems.keys() == {one.name, two.name, three.name, "f" * 12}
    assert "model.safetensors is damaged" in problems[one.name]
    assert f"is damaged (of run {three.name})" in problems[two.name]
    assert "metrics.jsonl is damaged (not what its result was written with)" in problems[three.name]
    table = ordinate("store", "check", "--store", "runs")
    assert table.code == 1 and table.out.startswith("4 runs and 2 studies: 4 damaged\n")
    assert "ordinate store check --repair" in table.out and table.err == ""

    code, repaired = checked(ordinate, "--repair")
    assert code == 1 and len(repaired["moved"]) == 4 and repaired["moved"][f"runs/{one.name}"] == (
        f"runs/damaged/{one.name}-1"
    )  # fmt: skip
    ((command, ids),) = repaired["again"].items()
    assert command.startswith("ordinate compare binary_majority") and set(ids) == {one.name, two.name, three.name}
    assert (compared / "damaged" / f"{one.name}-1" / "model.safetensors").exists() and not one.exists()
    assert not (four / "checkpoint.pt").exists()
    assert checked(ordinate)[0] == 0

    carry_out(compared)
    after = report(ordinate, "runs")
    assert after["tasks"] == before["tasks"] and after["failures"] == {}
    cut(one / "model.safetensors")
    assert checked(ordinate, "--repair")[1]["moved"] == {f"runs/{one.name}": f"runs/damaged/{one.name}-2"}


def test_a_run_that_somebody_is_at_work_on_is_left_alone(ordinate: Program, compared: Path) -> None:
    run = open_store(compared).runs()[0]
    (run.folder / "result.json").unlink()
    (run.folder / "config.json").write_text("[]")
    with run.claimed() as mine:
        assert mine and checked(ordinate, "--repair")[0] == 0 and run.folder.exists()
    code, found = checked(ordinate)
    assert code == 1 and "config.json is damaged (configuration is [])" in found["damaged"][0]["problem"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("result.json", b'{"schema": 2, "run": "x", "evaluation": []}'), ("result.json", b"[" * 50_000),
        ("config.json", b"[1]"), ("config.json", b'{"task": 3}'), ("result.json", b'{"schema": 2' + b"0" * 400 + b"}"),
    ],
)  # fmt: skip
def test_status_lists_all_runs_but_the_damaged_one(
    ordinate: Program, compared: Path, name: str, content: bytes
) -> None:
    run = open_store(compared).runs()[0]
    (run.folder / name).write_bytes(content)
    done = ordinate("status", "--store", "runs", "--json")
    assert done.code == 1 and len(json.loads(done.out)) == 3
    assert run.id in done.err and done.err.count("\n") == 1 and "Traceback" not in done.err


def test_a_damaged_table_is_written_anew_and_grows_no_more(ordinate: Program, compared: Path) -> None:
    rows = ordinate("status", "--store", "runs").out
    whole = (compared / "table.jsonl").read_bytes()
    wrong = json.loads(whole.splitlines()[0])
    wrong["row"]["task"] = []
    for damage in (b"\xff\x00\n" * 9, b"[]\n" * 9, whole[:50], json.dumps(wrong).encode() + b"\n"):
        (compared / "table.jsonl").write_bytes(damage)
        sizes = []
        for _ in range(3):
            assert ordinate("status", "--store", "runs").out == rows
            sizes.append((compared / "table.jsonl").stat().st_size)
        assert sizes[1] == sizes[2]
    for run in open_store(compared).runs():  # an error that is no text does no harm either
        (run.folder / "result.json").unlink()
        (run.folder / "error.txt").write_bytes(b"\xff\x1b[31m")
    shown = ordinate("status", "--store", "runs")
    assert shown.code == 0 and shown.out.count("failed") == 4 and "\x1b" not in shown.out


def test_renamed_listed_deleted_and_restored(whole: Path, tmp_path: Path, ordinate: Program) -> None:
    shutil.copytree(whole, tmp_path / "runs")
    study = next((tmp_path / "runs" / "studies").iterdir()).name
    assert (
        ordinate("store", "rename", study[:5], "my majority", "--note", "a first try").out == f"{study}  my majority\n"
    )
    listed = json.loads(ordinate("list", "comparisons", "--json").out)
    assert (listed[0]["name"], listed[0]["note"], listed[0]["state"]) == ("my majority", "a first try", "finished")
    assert all(row["shipped"] for row in listed[1:]) and len(listed) > 5
    assert "my majority" in ordinate("list", "comparisons").out
    assert ordinate("report", "my majority", "--format", "json", "-o", "-").code == 0
    assert ordinate("store", "delete", "my majority").out == f"comparison {study} and 4 runs are in the bin\n"
    assert not open_store(tmp_path / "runs").runs()
    assert ordinate("store", "restore", "my majority").out == f"comparison {study} is restored\n"
    run = open_store(tmp_path / "runs").runs()[0].id
    assert ordinate("store", "delete", run).out == f"run {run} is in the bin\n"
    assert ordinate("store", "restore", run[:8]).out == f"run {run} is restored\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rename", "majority"], "no new name for 'majority' was given: add one, or --note TEXT"),
        (["rename", "nothing", "x"], "no study or comparison 'nothing' in runs"),
        (["delete", "nothing"], "no comparison and no run 'nothing' in runs: `ordinate list comparisons` names them"),
        (["delete", ""], "no comparison and no run '' in runs"),
        (["restore", "nothing"], "no comparison and no run 'nothing' in runs/bin: nothing was restored"),
    ],
)
def test_names_that_are_nobodys(
    whole: Path, tmp_path: Path, ordinate: Program, words: list[str], sentence: str
) -> None:
    shutil.copytree(whole, tmp_path / "runs")
    done = ordinate("store", *words)
    assert done.code == 2 and sentence in done.err and len(done.err.splitlines()) == 1
    assert len(open_store(tmp_path / "runs").runs()) == 4


def test_a_store_belongs_to_comparisons_alone(ordinate: Program) -> None:
    done = ordinate("list", "tasks", "--store", "runs")
    assert done.code == 2 and "leave it out" in done.err
