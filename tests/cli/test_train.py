"""`ordinate train` and `ordinate status` as a user meets them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ordinate.results.serialize import write
from ordinate.store import Run, open_store

from .conftest import Program

SETTINGS = (
    "dim=16", "heads=2", "layers=1", "steps=40", "batch=16", "lr=0.01", "train_lengths=[3,5]", "ood_lengths=[7]",
    "evaluation_sequences=50",
)  # fmt: skip
MAJORITY = ("train", "binary_majority", "--encoding", "rope", *SETTINGS)


@pytest.mark.slow
def test_a_run_from_its_start_to_its_table(ordinate: Program, store: str) -> None:
    first = ordinate(*MAJORITY, "--store", store)
    assert first.code == 0
    assert first.err.count("validation") == 2 and "s left" in first.err
    assert len(open_store(store).runs()) == 1
    for words in ("accuracy", "floor", "verdict", "ID", "OOD"):
        assert words in first.out
    lines = {line.split("  ")[0]: line for line in first.out.splitlines()}
    assert lines["OOD"].split()[1] == "7" and lines["OOD"].split()[-1] == "solves"
    assert "One seed: preliminary" in first.out
    (learned,) = [line for line in first.out.splitlines() if line.startswith("Learned")]
    assert learned == "Learned at step 32, 40 in all (bar 95% in distribution); holds to at least 1.4 times 5."

    again = ordinate(*MAJORITY, "--store", store)
    assert again.code == 0 and again.out == first.out
    assert "is done already" in again.err and "validation" not in again.err

    document = json.loads(ordinate(*reversed_settings(), "--store", store, "--json").out)
    result = open_store(store).runs()[0].result
    assert document == write(result)
    assert (document["learned_at"], document["steps"]) == (32, 40)
    # Numbers are stored; words are derived from them where they are shown.
    assert not any({"verdict", "normalized", "fitted"} & row.keys() for row in document["evaluation"])
    assert list(result.words.values()) == ["solves"] * 3


def reversed_settings() -> tuple[str, ...]:
    """The same run in other words."""
    return ("train", "binary_majority()", *reversed(SETTINGS), "-e", "rope(base=10000)")


@pytest.mark.slow
def test_json_is_one_document_and_all_else_is_on_stderr(tmp_path: Path) -> None:
    """Started from nothing."""
    command = [sys.executable, "-c", "from ordinate.cli import main; main()", *MAJORITY, "--json", "--store", "runs"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout)["status"] == "finished"
    assert "validation" in done.stderr


def test_a_dry_run_shows_what_it_would_do(ordinate: Program, store: str) -> None:
    shown = json.loads(ordinate(*MAJORITY, "--store", store, "--dry-run").out)
    assert shown["state"] == "not started" and shown["model"]["dim"] == 16 and shown["lr"] == 0.01
    assert not Path(store).exists()


def test_a_file_of_settings_goes_below_the_command_line(ordinate: Program, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("lr = 0.5\nsteps = 7\n[model]\ndim = 32\n")
    arguments = ("train", "k_back", "-e", "rope", "lr=0.25", "--file", "run.toml", "--dry-run")
    shown = json.loads(ordinate(*arguments).out)
    assert (shown["lr"], shown["steps"], shown["model"]["dim"]) == (0.25, 7, 32)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "k_bak", "-e", "rope"), "unknown task 'k_bak': did you mean k_back?"),
        (("train", "k_back", "-e", "rop"), "unknown encoding 'rop': did you mean"),
        (("train", "k_back"), "--encoding"),
        (("train", "k_back", "-e", "rope", "stpes=3"), "unknown key stpes: did you mean steps?"),
        (("train", "k_back", "-e", "rope", "steps"), "expected key=value, got 'steps'"),
        (("train", "k_back", "-e", "rope", "steps=3", "epochs=2"), "give steps or epochs, not both"),
        (("train", "k_back", "-e", "rope", "train_lengths=[1,8]"), "k_back makes lengths of at least 4"),
        (("train", "k_back", "-e", "rope", "ood_lengths=[32]"), "ood length 32 is not out of distribution"),
        (("train", "k_back", "-e", "rope", "device=7"), "unknown device '7'"),
        (("train", "k_back", "-e", "rope", "--file", "none.toml"), "cannot read none.toml: No such file"),
        (("train", "k_back", "-e", "rope", "--file", "Makefile"), "Makefile is not TOML"),
        (("train", "k_back", "-e", "rope", "--store", "Makefile"), "Makefile is a file, not a folder of runs"),
        (("train", "k_back", "-e", "rope", "--store", "Makefile/runs"), "no store at Makefile/runs (Not a directory)"),
        (("train", "k_back", "-e", "rope", "--store", "Makefile", "--dry-run"), "Makefile is a file, not a folder"),
        (
            ("train", "k_back", "-e", "conditional(size=1e19)", "dim=8", "heads=2", "steps=3"),
            "nothing can be learned from",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_two(
    arguments: tuple[str, ...], words: str, ordinate: Program, tmp_path: Path
) -> None:
    (tmp_path / "Makefile").write_text("all: of it")
    done = ordinate(*arguments)
    assert done.code == 2 and done.out == ""
    assert words in done.err and "Traceback" not in done.err
    assert (tmp_path / "Makefile").read_text() == "all: of it"


def kept(run: Run) -> dict[str, object]:
    """What must be the same however a run came about."""
    result = {key: value for key, value in write(run.result).items() if key not in ("seconds", "files")}
    return {"result": result, "weights": (run.folder / "model.safetensors").read_bytes()}


def test_status_lists_what_is_done_and_what_is_not(ordinate: Program, store: str) -> None:
    nothing = ordinate("status", "--store", store)
    assert nothing.code == 0 and "No runs" in nothing.err and nothing.out == ""
    assert ordinate(*MAJORITY, "seed=1", "--store", store).code == 0
    assert ordinate(*MAJORITY, "seed=2", "--store", store, largest=10_000).code == 1
    fast = [part for part in MAJORITY if not part.startswith("lr=")]
    assert ordinate(*fast, "seed=3", "lr=1e7", "warmup=0", "--store", store).code == 0
    rows = json.loads(ordinate("status", "--store", store, "--json").out)
    assert [(row["seed"], row["state"]) for row in rows] == [(1, "done"), (2, "failed"), (3, "diverged")]
    assert rows[0]["inside"] >= 0.95 and rows[0]["outside"][0]["verdict"] == "solves"
    assert 0 < rows[1]["step"] < 40 and rows[1]["inside"] is None and "File too large" in rows[1]["error"]
    table = ordinate("status", "--store", store).out
    assert all(word in table for word in ("failed", "File too large", "done", "diverged", "40/40", "binary_majority"))


def test_a_file_that_cannot_grow_fails_the_run_and_nothing_else(ordinate: Program, store: str) -> None:
    failed = ordinate(*MAJORITY, "--store", store, largest=10_000)
    assert failed.code == 1 and failed.out == ""
    assert "ordinate: File too large" in failed.err and "start again to go on" in failed.err
    assert "Traceback" not in failed.err
    assert ordinate(*MAJORITY, "--store", store).code == 0


@contextmanager
def disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own at this folder, where that is allowed."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def leave(folder: Path, free: int) -> None:
    """Fill the disk up to so many bytes."""
    filler = folder / "filler"
    filler.unlink(missing_ok=True)
    there = os.statvfs(folder)
    filler.write_bytes(bytes(max(0, there.f_bavail * there.f_frsize - free)))


@pytest.mark.slow
def test_a_full_disk_fails_the_run_and_nothing_else(ordinate: Program, tmp_path: Path) -> None:
    full = tmp_path / "full"
    another = (*MAJORITY, "seed=2", "--store")
    assert ordinate(*another, str(tmp_path / "runs")).code == 0
    expected = kept(open_store(tmp_path / "runs").runs()[0])
    with disk(full, "1m"):
        assert ordinate(*MAJORITY, "--store", str(full)).code == 0
        earlier = open_store(full).runs()[0]
        before = {path: path.read_bytes() for path in earlier.folder.iterdir()}
        leave(full, 0)
        refused = ordinate(*another, str(full))
        assert refused.code == 1 and "No space left on device" in refused.err
        for free in range(2**12, 2**20, 2**14):
            leave(full, free)
            done = ordinate(*another, str(full))
            assert before == {path: path.read_bytes() for path in earlier.folder.iterdir()}
            if done.code == 0:
                break
            assert done.code == 1 and done.out == "" and "Traceback" not in done.err
            assert "ordinate: No space left on device" in done.err and "start again to go on" in done.err
        run = next(run for run in open_store(full).runs() if run.id != earlier.id)
        log = (run.folder / "log.txt").read_text()
        assert "started" in log and "continued" in log
        assert kept(run) == expected
