"""From text to a corpus: nothing lost, nothing twice, whatever happens meanwhile."""

import errno
import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ordinate.core.errors import InputError
from ordinate.text import Corpus, open_corpus, prepare, request
from ordinate.text.sources import jsonl

from .made_text import contents, decoded, jsonl_file, parquet_file, text_folder, texts

SMALL = dict(vocabulary=300, valid=0.2)


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of JSON lines that is cut into a few pieces."""
    monkeypatch.setattr(jsonl, "PIECE", 4000)
    return f"jsonl:{jsonl_file(tmp_path / 'lines.jsonl', texts(60))}"


def test_every_source_gives_every_document_back(tmp_path: Path) -> None:
    documents = texts(40)
    made = {
        "text": text_folder(tmp_path / "text", documents),
        "jsonl": jsonl_file(tmp_path / "lines.jsonl", documents),
        "parquet": parquet_file(tmp_path / "parquet" / "a.parquet", documents).parent,
    }
    validation = []
    for kind, path in made.items():
        corpus = prepare(request(f"{kind}:{path}", **SMALL), tmp_path / f"{kind}.out", workers=0)
        parts = {split: decoded(corpus, split) for split in ("train", "valid")}
        assert sorted(parts["train"] + parts["valid"]) == sorted(text for text in documents if text)
        assert parts["train"] != sorted(parts["train"]), "shuffled"
        validation.append(sorted(parts["valid"]))
        sizes = corpus.token_bytes()
        for split in ("train", "valid"):
            tokens, _ = corpus.read(split, 0, corpus.tokens(split))
            assert (
                sizes[tokens].sum()
                == corpus.manifest.total(split, "bytes")
                == sum(len(t.encode()) for t in parts[split])
            )
            assert tokens.max() < corpus.vocabulary == len(sizes)
    assert validation[0] == validation[1] == validation[2], "the split does not depend on how text is stored"


def test_pieces_lose_no_line(lines: str, tmp_path: Path) -> None:
    corpus = prepare(request(lines, **SMALL), tmp_path / "out", workers=0)
    assert len(corpus.manifest.shards["train"]) > 3
    assert sorted(decoded(corpus, "train") + decoded(corpus, "valid")) == sorted(text for text in texts(60) if text)


@pytest.mark.parametrize("piece", [1, 7, 50, 51, 52])
def test_a_line_belongs_where_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(jsonl, "PIECE", piece)
    source = jsonl.Jsonl(jsonl_file(tmp_path / "lines.jsonl", ["a", "bb", "ccc" * 20, "d"]))
    pieces = source.pieces(source.files()[0])
    found = [doc.text for one in pieces for batch in source.read(one, tmp_path) for doc in batch.documents]
    assert found == ["a", "bb", "ccc" * 20, "d"]


def _run(source: str, folder: Path, workers: int) -> None:
    prepare(request(source, **SMALL), folder, workers=workers)


def test_workers_do_not_change_a_byte(tmp_path: Path) -> None:
    documents = texts(60)
    for name in "abc":
        parquet_file(tmp_path / "in" / f"{name}.parquet", documents["abc".index(name) :: 3])
    for workers in (0, 1, 2):
        _run(f"parquet:{tmp_path / 'in'}", tmp_path / str(workers), workers)
    assert contents(tmp_path / "0") == contents(tmp_path / "1") == contents(tmp_path / "2")


def _dying(source: str, folder: Path, last: int, late: bool) -> None:
    """Prepare, and be killed just before, or just after, the last file of so many is put in its place."""
    rename, count = os.replace, itertools.count(1)

    def replace(*paths: Path) -> None:
        dies = next(count) == last
        if late or not dies:
            rename(*paths)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = replace  # type: ignore[assignment]
    _run(source, folder, 0)


@pytest.mark.parametrize("late", [False, True])
def test_killed_again_and_again_it_ends_the_same(lines: str, tmp_path: Path, late: bool) -> None:
    """One file, two files, three files further each time, so between the two shards of a piece as well."""
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    _run(lines, straight, 0)
    fork, deaths = multiprocessing.get_context("fork"), 0
    while not (killed / "manifest.json").exists():
        child = fork.Process(target=_dying, args=(lines, killed, deaths % 3 + 1, late))
        child.start()
        child.join()
        deaths += 1
        assert child.exitcode in (0, -signal.SIGKILL) and deaths < 30
    assert deaths > 5
    _run(lines, killed, 0)
    assert contents(killed) == contents(straight)


@pytest.mark.parametrize("room", [0, 7])
def test_a_full_disk_loses_nothing(lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """So many files and folders can be synced, then there is no room."""
    sync, synced = os.fsync, itertools.count()

    def full(descriptor: int) -> None:
        if next(synced) >= room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            _run(lines, tmp_path / "out", 0)
    assert not [name for name in contents(tmp_path / "out") if name.endswith(".tmp")]
    for folder in ("out", "straight"):
        _run(lines, tmp_path / folder, 0)
    assert contents(tmp_path / "out") == contents(tmp_path / "straight")


def test_what_is_done_is_not_done_again(lines: str, tmp_path: Path) -> None:
    _run(lines, tmp_path / "out", 0)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir() if path.name != ".lock"}
    seen: list[object] = []
    prepare(request(lines, **SMALL), tmp_path / "out", workers=0, watch=seen.append)
    assert before == {p.name: p.stat().st_mtime_ns for p in (tmp_path / "out").iterdir() if p.name != ".lock"}
    assert not seen


@pytest.mark.parametrize("finished", [False, True])
def test_damaged_shards_are_not_taken_for_done(lines: str, tmp_path: Path, finished: bool) -> None:
    _run(lines, tmp_path / "out", 0)
    whole = contents(tmp_path / "out")
    shard = tmp_path / "out" / "train-00001.bin"
    shard.write_bytes(whole[shard.name][:-1] + b"\x7f")
    if not finished:
        (tmp_path / "out" / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"train-00001.bin is damaged \(another hash than its header says\)"):
        _run(lines, tmp_path / "out", 0)
    assert (tmp_path / "out" / "manifest.json").exists() == finished
    shard.write_bytes(whole[shard.name])
    _run(lines, tmp_path / "out", 0)
    assert contents(tmp_path / "out") == whole


def test_a_lock_is_not_followed(lines: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"\.lock is a link, which is not followed"):
        _run(lines, tmp_path / "out", 0)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_of_something_else_is_left_alone(lines: str, tmp_path: Path) -> None:
    _run(lines, tmp_path / "out", 0)
    before = contents(tmp_path / "out")
    with pytest.raises(InputError, match=r"begun with vocabulary 300, not 400; seed 0, not 5: choose another folder"):
        prepare(request(lines, vocabulary=400, valid=0.2, seed=5), tmp_path / "out", workers=0)
    with open(lines.removeprefix("jsonl:"), "a") as file:
        file.write('{"text": "more"}\n')
    with pytest.raises(InputError, match=r"the source has changed since .* \('lines.jsonl'\): choose another folder"):
        _run(lines, tmp_path / "out", 0)
    assert contents(tmp_path / "out") == before
    with pytest.raises(InputError, match="holds other things"):
        _run(lines, tmp_path, 0)


def test_a_tokenizer_can_be_taken_from_another_corpus(lines: str, tmp_path: Path) -> None:
    first = prepare(request(lines, vocabulary=5000, valid=0.2), tmp_path / "first", workers=0)
    more = text_folder(tmp_path / "more", texts(20, seed=1))
    second = prepare(request(f"text:{more}", tokenizer=tmp_path / "first"), tmp_path / "second", workers=0)
    assert second.manifest.tokenizer == first.manifest.tokenizer and second.vocabulary == 5000
    assert np.array_equal(second.token_bytes(), first.token_bytes())
    assert sorted(decoded(second, "train") + decoded(second, "valid")) == sorted(t for t in texts(20, seed=1) if t)
    with pytest.raises(InputError, match=r"has [\d,]+ ids, more than a vocabulary of 300"):
        request(f"text:{more}", tokenizer=tmp_path / "first", vocabulary=300)
    with pytest.raises(InputError, match="not a tokenizer of the package"):
        request(f"text:{more}", tokenizer=tmp_path / "first" / "recipe.json")


def test_one_document_at_least_is_for_validation(tmp_path: Path) -> None:
    made = text_folder(tmp_path / "in", texts(5))
    corpus = prepare(request(f"text:{made}", vocabulary=300, valid=1e-9), tmp_path / "out", workers=0)
    assert [corpus.manifest.total(split, "documents") for split in ("train", "valid")] == [4, 1]
    with pytest.raises(InputError, match="all documents are the same"):
        prepare(request(f"text:{text_folder(tmp_path / 'one', ['a', 'a'])}", **SMALL), tmp_path / "two", workers=0)


def test_what_is_no_utf8_is_replaced_and_counted(tmp_path: Path) -> None:
    bad = tmp_path / "in"
    text_folder(bad, texts(10))
    (bad / "bad.txt").write_bytes(b"caf\xe9 noir")
    (bad / "hostile \x1b[31m\n\udcff.txt").write_bytes(b"named oddly")
    corpus = prepare(request(f"text:{bad}", **SMALL), tmp_path / "out", workers=0)
    found = decoded(corpus, "train") + decoded(corpus, "valid")
    assert "caf\ufffd noir" in found and "named oddly" in found
    assert corpus.manifest.total("train", "replaced") + corpus.manifest.total("valid", "replaced") == 1
    lone = tmp_path / "lone.jsonl"
    lone.write_bytes(b'{"text": "half \\ud83d of one"}\n{"text": "\xff"}\n{"text": "fine"}\n')
    corpus = prepare(request(f"jsonl:{lone}", **SMALL), tmp_path / "lone", workers=0)
    assert sorted(decoded(corpus, "train") + decoded(corpus, "valid")) == [
        "fine",
        "half \ufffd\ufffd\ufffd of one",
        "\ufffd",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(source="txet:x"), "unknown source 'txet:x'"),
        (dict(source="text:"), "names no file or folder"),
        (dict(source="fineweb-edu:sample-10B"), "did you mean sample-10BT"),
        (dict(revision="main"), "--revision is for fineweb-edu"),
        (dict(vocabulary=256, valid=1.0), "vocabulary must be from 257 .*; the share .* between 0 and 1, got 1"),
        (dict(seed=-1, max_shards=0), "seed must be at least 0.*; max_shards must be at least 1"),
        (dict(tokenizer="nowhere.json"), "the tokenizer nowhere.json cannot be read: No such file"),
    ],
)
def test_bad_requests_are_refused(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        request(**arguments)  # type: ignore[arg-type]


def _empty_folder(path: Path) -> str:
    path.mkdir()
    return f"text:{path}"


def _jsonl(content: bytes) -> Callable[[Path], str]:
    def write(path: Path) -> str:
        path.write_bytes(content)
        return f"jsonl:{path}"

    return write


def _parquet(content: bytes | dict[str, list[object]]) -> Callable[[Path], str]:
    def write(path: Path) -> str:
        import pyarrow
        from pyarrow.parquet import write_table

        path.mkdir()
        if isinstance(content, bytes):
            (path / "a.parquet").write_bytes(content)
        else:
            write_table(pyarrow.table(content), path / "a.parquet")
        return f"parquet:{path}"

    return write


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (lambda path: f"text:{path}", "there is no file or folder"),
        (_empty_folder, "no text files in"),
        (_jsonl(b'{"text": "a"}\n\n{"txt": "b"}\n'), "line 3 of .* has no text in a field `text`"),
        (_jsonl(b'{"text": "a"}\n{"text": \n'), "line 2 of .* is not JSON"),
        (_jsonl(b'{"text": 5}\n'), "line 1 of .* has no text"),
        (_jsonl(b'{"text": ""}\n'), "the source holds no text"),
        (_parquet(b"PAR1 no more than that"), "is not a parquet file, or is damaged"),
        (_parquet({"txt": ["a"]}), "has no column `text`, it has txt"),
        (_parquet({"text": [1]}), "holds int64, not text"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, source: Callable[[Path], str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as raised:
        prepare(request(source(tmp_path / "in"), **SMALL), tmp_path / "out", workers=0)
    assert "\n" not in str(raised.value)


def test_the_standard_library_is_the_default() -> None:
    wanted = request()
    files, origin = wanted.source.files()
    names = [file.name for file in files]
    assert {"argparse.py", "json/decoder.py"} <= set(names) and names == sorted(names)
    assert not any("test" in name.split("/")[:-1] or name.startswith("site-packages") for name in names)
    assert origin["python"] and sum(file.size for file in files) > 5e6


def test_two_do_not_prepare_one_folder_at_once(lines: str, tmp_path: Path) -> None:
    def meanwhile(progress: object) -> None:
        with pytest.raises(InputError, match="is being prepared by another process"):
            _run(lines, tmp_path / "out", 0)

    corpus = prepare(request(lines, **SMALL), tmp_path / "out", workers=0, watch=meanwhile)
    assert isinstance(corpus, Corpus) and open_corpus(tmp_path / "out", verify=True).fingerprint == corpus.fingerprint
