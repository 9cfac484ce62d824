"""Files are read whole or not at all."""

import errno
import multiprocessing
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate import InputError
from ordinate.store import Run
from ordinate.store.files import Journal, read_json, write_atomic, write_json

VALUES = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@settings(deadline=None, max_examples=40)
@given(records=st.lists(st.dictionaries(st.text(), VALUES)), data=st.data())
def test_a_torn_last_line_is_dropped(records: list[dict[str, object]], data: st.DataObject) -> None:
    """Wherever the file ends, its readers see the records that are whole, and no others."""
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "metrics.jsonl")
        ends = [0, *(journal.append([record]) for record in records)]
        size = data.draw(st.integers(0, ends[-1]))
        if records:
            os.truncate(journal.path, size)
        whole = sum(end <= size for end in ends) - 1
        assert list(journal.read()) == records[:whole]


@pytest.mark.parametrize("torn", [0, 1, 30])
def test_cut_and_written_again_is_written_once(tmp_path: Path, torn: int) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    journal.append([{"step": 1}])
    size = journal.sync()
    journal.append([{"step": step} for step in (2, 3, 4)])
    whole = journal.path.read_bytes()
    for _ in range(3):
        os.truncate(journal.path, len(whole) - torn)
        journal.cut(size)
        assert journal.sync() == size
        journal.append([{"step": step} for step in (2, 3, 4)])
        assert journal.path.read_bytes() == whole


def test_a_line_is_never_cut(tmp_path: Path) -> None:
    """A checkpoint that ends in one is not this journal's."""
    journal = Journal(tmp_path / "metrics.jsonl")
    journal.append([{"step": 1}, {"step": 2}])
    whole = journal.path.read_bytes()
    for size in range(len(whole) + 3):
        if whole[:size].endswith(b"\n") and size <= len(whole):
            journal.check(size)
        elif size:
            with pytest.raises(InputError, match=r"its checkpoint ends in a line|shorter than its checkpoint says"):
                journal.cut(size)
        assert journal.path.read_bytes() == whole
    assert [record["step"] for record in journal.read(len(whole) // 2)] == [1]


def test_a_journal_that_was_never_written_is_empty(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    journal.cut(0)
    assert list(journal.read()) == [] and Run(tmp_path).step == 0


def test_a_reader_sees_nothing_or_all(tmp_path: Path) -> None:
    """A writer replaces the result again and again; a reader sees one of its versions, as a whole."""
    path, versions = tmp_path / "result.json", 60

    def write() -> None:
        for version in range(versions):
            write_json(path, [version] * 20_000)

    process = multiprocessing.get_context("fork").Process(target=write, daemon=True)
    process.start()
    seen: list[int] = []
    while process.is_alive() or not seen:
        if path.exists():
            rows = read_json(path)
            assert len(rows) == 20_000 and len(set(rows)) == 1
            seen.append(rows[0])
    assert process.exitcode == 0
    assert seen == sorted(seen) and read_json(path)[0] == versions - 1
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "result.json"
    write_json(path, "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, b"new")
    assert read_json(path) == "old" and os.listdir(tmp_path) == ["result.json"]


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b'{"a": -Infinity}', b"[" * 100_000, b"\xff", b"9" * 5000])
def test_what_is_not_json_is_not_read(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(text)
    with pytest.raises(InputError, match=r"result.json is damaged \(not JSON\): move it away"):
        read_json(tmp_path / "result.json")
    (tmp_path / "metrics.jsonl").write_bytes(b"{}\n" + text + b"\n")
    with pytest.raises(InputError, match=r"damaged \(line 2 is not JSON\): move the run's folder away"):
        list(Journal(tmp_path / "metrics.jsonl").read())


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    for name in ("none", "folder"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        with pytest.raises(InputError, match=f"{name} cannot be read: "):
            read_json(tmp_path / name)
    with pytest.raises(InputError, match="folder cannot be read: Is a directory"):
        list(Journal(tmp_path / "folder").read())


def test_what_is_not_json_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "result.json", float("nan"))
    with pytest.raises(ValueError, match="JSON compliant"):
        Journal(tmp_path / "metrics.jsonl").append([{"value": float("inf")}])
    assert os.listdir(tmp_path) == []
