"""Many runs in one folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ordinate import InputError, open_store
from ordinate.store.files import write_json

IDS = ("0123456789ab", "01ffffffffff", "aaaaaaaaaaaa")


def one_floor(numbers: dict[str, float]) -> bool:
    return list(numbers) == ["floor"]


def test_runs_are_found_by_how_their_id_starts(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, name in enumerate(IDS):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        os.utime(tmp_path / name / "config.json", (number, number))
    (tmp_path / "baselines").mkdir()
    (tmp_path / "ffffffffffff").mkdir()  # claimed, and killed before it had a configuration
    assert [run.id for run in store.runs()] == list(IDS)
    assert store.find("a").id == IDS[2] and store.find("012").id == IDS[0]
    with pytest.raises(InputError, match="2 runs start with '01'"):
        store.find("01")
    with pytest.raises(InputError, match=r"no run '0123456789aa' in .*did you mean 0123456789ab"):
        store.find("0123456789aa")
    with pytest.raises(InputError, match="twelve hexadecimal digits"):
        store.run("../elsewhere")


def test_a_store_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert open_store(tmp_path / "none").runs() == []
    assert not (tmp_path / "none").exists()


def test_what_is_remembered_is_computed_once(tmp_path: Path) -> None:
    store, calls = open_store(tmp_path / "new"), []

    def compute() -> dict[str, object]:
        calls.append(1)
        return {"floor": 0.5}

    assert (
        store.remember("baselines", "a", one_floor, compute)
        == store.remember("baselines", "a", one_floor, compute)
        == {"floor": 0.5}
    )
    assert len(calls) == 1
    assert store.remember("baselines", "b", one_floor, compute) == {"floor": 0.5} and len(calls) == 2


@contextmanager
def tiny_disk(folder: Path, options: str) -> Iterator[None]:
    """A file system of its own at this folder, where that is allowed."""
    folder.mkdir()
    if os.system(f"mount -t tmpfs -o {options} tmpfs {folder} 2>/dev/null"):
        pytest.skip("needs the right to mount")
    try:
        yield
    finally:
        os.system(f"umount {folder}")


def test_a_place_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(InputError, match="cannot be made"):
            open_store(place).check_writable()
    assert (tmp_path / "file").read_text() == "in the way"
    with tiny_disk(tmp_path / "read-only", "ro"), pytest.raises(InputError, match="cannot be written"):
        open_store(tmp_path / "read-only").check_writable()


def test_a_full_disk_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    with tiny_disk(tmp_path / "full", "size=16k"):
        (tmp_path / "full" / "filler").write_bytes(b"x" * 2**14)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            open_store(tmp_path / "full").check_writable()
        assert os.listdir(tmp_path / "full") == ["filler"]


def test_a_good_place_is_made_and_left_empty(tmp_path: Path) -> None:
    open_store(tmp_path / "deep" / "runs").check_writable()
    assert os.listdir(tmp_path / "deep" / "runs") == []


def test_what_is_damaged_is_named_or_made_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    (tmp_path / "baselines").mkdir()
    for damage in ("{", "[]", "[1]"):
        (tmp_path / "baselines" / "key.json").write_text(damage)
        assert store.remember("baselines", "key", one_floor, lambda: {"floor": 1}) == {"floor": 1}
    run = store.run("0" * 12)
    run.folder.mkdir()
    (run.folder / "result.json").write_bytes(b"")
    with pytest.raises(InputError, match=r"result.json is damaged"):
        _ = run.result
    (run.folder / "claim").write_text("[]")
    assert run.state == "done"
    run.journal.append([{"step": 1}])
    with pytest.raises(InputError, match="shorter than its checkpoint says"):
        run.journal.cut(10_000)
    run.journal.path.write_text("nonsense\n")
    with pytest.raises(InputError, match="line 1 is not JSON"):
        list(run.journal.read())


@pytest.mark.parametrize(
    "kept", [{}, {"score": 1.0}, {"floor": "high"}, {"floor": 0.5, "score": 1.0}, [0.5], {"floor": None}]
)
def test_kept_numbers_that_are_others_are_computed_again(tmp_path: Path, kept: object) -> None:
    """One of another name would replace a score."""
    store = open_store(tmp_path)
    (tmp_path / "baselines").mkdir()
    write_json(tmp_path / "baselines" / "a.json", kept)
    assert store.remember("baselines", "a", one_floor, lambda: {"floor": 0.25}) == {"floor": 0.25}


@pytest.mark.parametrize("name", ["config.json", "result.json", "metrics.jsonl", "claim", "log.txt"])
def test_a_pipe_in_a_store_is_not_waited_for(tmp_path: Path, name: str) -> None:
    run = open_store(tmp_path).run("0123456789ab")
    run.folder.mkdir()
    os.mkfifo(run.folder / name)
    assert run.claim.holder is None
    for read in (lambda: run.config, lambda: list(run.records()), lambda: run.result):
        with suppress(InputError):
            read()
