"""Reading a prepared corpus, and refusing one that is not what it was."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from ordinate.core.errors import InputError
from ordinate.text import Corpus, open_corpus, prepare, request, sample
from ordinate.text.manifest import shard_name
from ordinate.text.shard import HEADER, ShardWriter, dtype_of, open_shard
from ordinate.text.sources import jsonl

from .made_text import jsonl_file, texts


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """A few shards, some of them empty on one side."""
    monkeypatch.setattr(jsonl, "PIECE", 2000)
    source = f"jsonl:{jsonl_file(tmp_path / 'lines.jsonl', texts(40))}"
    return prepare(request(source, vocabulary=300, valid=0.1), tmp_path / "corpus", workers=0)


def test_a_shard_that_was_read_is_sent_to_another_process_by_name(corpus: Corpus) -> None:
    shard = open_shard(corpus.folder / shard_name("train", 0))
    before, size = shard.read(0, 5), len(pickle.dumps(open_shard(shard.path)))
    assert len(sent := pickle.dumps(shard)) == size
    assert all(np.array_equal(a, b) for a, b in zip(before, pickle.loads(sent).read(0, 5), strict=True))


def test_any_stretch_is_part_of_the_stream(corpus: Corpus) -> None:
    for split in ("train", "valid"):
        tokens, documents = corpus.read(split, 0, corpus.tokens(split))
        assert tokens.dtype == documents.dtype == np.int64
        assert np.array_equal(np.cumsum(tokens == 0) - 1, documents), "a document begins with id 0"
        assert documents[-1] + 1 == corpus.manifest.total(split, "documents")
        for start in range(0, corpus.tokens(split), 97):
            count = min(start % 301, corpus.tokens(split) - start)
            part, owners = corpus.read(split, start, count)
            assert np.array_equal(part, tokens[start : start + count])
            assert np.array_equal(owners, documents[start : start + count])
    assert any(not header.tokens for header in corpus.manifest.shards["valid"])


def test_sequences_overlap_by_one_token(corpus: Corpus) -> None:
    tokens, documents = corpus.read("train", 0, corpus.tokens("train"))
    for length in (1, 16, 100):
        count = corpus.sequences("train", length)
        assert count * length < len(tokens) <= (count + 1) * length
        for index in (0, 1, count - 1):
            part, owners = corpus.sequence("train", length, index)
            assert np.array_equal(part, tokens[index * length : (index + 1) * length + 1])
            assert np.array_equal(owners, documents[index * length : (index + 1) * length + 1])


def test_an_epoch_has_every_sequence_once_and_the_next_another_order(corpus: Corpus) -> None:
    length = 64
    count = corpus.sequences("train", length)
    wanted = sorted(corpus.sequence("train", length, index)[0].tolist() for index in range(count))
    epochs = [[sample(corpus, length, 3, e * count + i)[0].tolist() for i in range(count)] for e in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == wanted
    assert epochs[0] != epochs[1] != wanted
    assert [sample(corpus, length, 4, index)[0].tolist() for index in range(count)] != epochs[0]


def test_what_is_not_there_cannot_be_read(corpus: Corpus) -> None:
    size = corpus.tokens("valid")
    with pytest.raises(InputError, match="is smaller than one sequence"):
        corpus.sequence("valid", size, 0)
    with pytest.raises(InputError, match="is smaller than one sequence"):
        sample(corpus, corpus.tokens("train"), 0, 0)
    with pytest.raises(InputError, match="got index"):
        corpus.sequence("valid", 5, corpus.sequences("valid", 5))
    with pytest.raises(InputError, match="were requested"):
        corpus.read("valid", size - 1, 2)
    with pytest.raises(InputError, match="at least 1 token"):
        corpus.sequences("valid", 0)


@pytest.mark.parametrize(("vocabulary", "width"), [(65_535, 2), (65_536, 2), (65_537, 4)])
def test_the_largest_id_fits(tmp_path: Path, vocabulary: int, width: int) -> None:
    ids = [0, vocabulary - 1, 1, vocabulary - 1, 7]
    writer = ShardWriter(tmp_path / "train-00000.bin", vocabulary, "digest")
    writer.add(ids, 5, False)
    writer.add([0], 1, True)
    writer.finish(0)
    shard = open_shard(tmp_path / "train-00000.bin")
    tokens, documents = shard.read(0, 6)
    parts = sorted((tokens[documents == number].tolist() for number in (0, 1)), key=len)
    assert parts == [[0], ids] and shard.header.dtype == dtype_of(vocabulary) == f"<u{width}"
    assert shard.header.starts_at == HEADER + {2: 16, 4: 24}[width]
    assert (shard.header.bytes, shard.header.replaced) == (6, 1)
    shard.verify()


def test_a_changed_byte_is_found(corpus: Corpus) -> None:
    path = corpus.folder / shard_name("train", 1)
    content = bytearray(path.read_bytes())
    content[HEADER + 10] ^= 1
    path.write_bytes(content)
    open_corpus(corpus.folder)
    with pytest.raises(InputError, match=r"train-00001.bin is damaged \(another hash"):
        open_corpus(corpus.folder, verify=True)


def _header(content: bytes, **changes: object) -> bytes:
    magic, line, rest = content[:16], json.loads(content[16:HEADER]), content[HEADER:]
    return magic + json.dumps(line | changes).encode().ljust(HEADER - 17) + b"\n" + rest


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content[:-1], "does not fit its size"),
        (lambda content: b"x" + content[1:], "is not a shard of tokens"),
        (lambda content: b"", "is not a shard of tokens"),
        (lambda content: content[:40] + b"{" + content[41:], "its header cannot be read"),
        (lambda content: _header(content, more=1), "its header cannot be read"),
        (lambda content: _header(content, tokens=-1), "its header cannot be read"),
        (lambda content: _header(content, version=2), "is of version 2"),
        (lambda content: _header(content, vocabulary=70_000), "does not fit its size"),
        (lambda content: _header(content, bytes=1), "is not the shard that the manifest"),
        (lambda content: _header(content, tokenizer="0" * 64), "another tokenizer"),
    ],
)
def test_a_shard_that_is_not_what_it_was_is_refused(corpus: Corpus, change: object, sentence: str) -> None:
    path = corpus.folder / shard_name("train", 0)
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(InputError, match=sentence):
        open_corpus(corpus.folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content | {"schema": 99}, "by a newer ordinate"),
        (lambda content: content | {"shards": {"train": []}}, "is damaged"),
        (lambda content: content | {"tokenizer": "../../etc/passwd"}, "is damaged"),
        (lambda content: content | {"recipe": content["recipe"] | {"vocabulary": "300"}}, "is damaged"),
        (lambda content: content | {"recipe": content["recipe"] | {"vocabulary": 299}}, "is damaged"),
        (lambda content: content | {"survey": []}, "is damaged"),
        (lambda content: [content], "is damaged"),
    ],
)
def test_a_manifest_that_is_not_what_it_was_is_refused(corpus: Corpus, change: object, sentence: str) -> None:
    path = corpus.folder / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))  # type: ignore[operator]
    with pytest.raises(InputError, match=sentence):
        open_corpus(corpus.folder)


def test_a_corpus_lacks_something(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no prepared corpus: make one with"):
        open_corpus(tmp_path)
    (corpus.folder / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="is not the tokenizer that the manifest names"):
        open_corpus(corpus.folder)
    (corpus.folder / shard_name("valid", 0)).unlink()
    (corpus.folder / "manifest.json").unlink()
    with pytest.raises(InputError, match="is not finished"):
        open_corpus(corpus.folder)
