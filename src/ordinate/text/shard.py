"""A shard: the tokens of one part of a corpus and where its documents begin, in one file that describes itself."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from hashlib import file_digest, sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ordinate.core.errors import InputError
from ordinate.store.files import regular, replacing
from ordinate.text.order import permuted

C = TypeVar("C")

VERSION = 1
MAGIC = b"ordinate tokens\n"
HEADER = 1024  # bytes; the tokens start here
START = np.dtype("<u8")  # of a document, in tokens
BLOCK = 2**22


@dataclass(frozen=True)
class Header:
    """The description of a shard. It is followed by the tokens, padding to eight bytes, and the documents' starts."""

    version: int
    dtype: str  # of the tokens
    vocabulary: int  # ids are below this
    tokenizer: str  # sha256 of tokenizer.json
    tokens: int
    documents: int
    bytes: int  # of text, as UTF-8
    replaced: int  # documents with invalid UTF-8
    sha256: str  # of all that follows

    @property
    def padding(self) -> int:
        return -self.tokens * np.dtype(self.dtype).itemsize % START.itemsize

    @property
    def starts_at(self) -> int:
        """Where the documents' starts begin, in bytes."""
        return HEADER + self.tokens * np.dtype(self.dtype).itemsize + self.padding

    @property
    def file_size(self) -> int:
        return self.starts_at + self.documents * START.itemsize


def dtype_of(vocabulary: int) -> str:
    """The smallest kind of number that holds every id: the largest of 65,536 ids is 65,535."""
    return "<u2" if vocabulary <= 2**16 else "<u4"


def from_plain(cls: type[C], content: Any) -> C:
    """A dataclass of numbers and texts from what JSON gave; anything else than exactly its fields is a ValueError."""
    kinds = {field.name: field.type for field in fields(cls)}  # type: ignore[arg-type]
    if not isinstance(content, dict) or {name: type(value) for name, value in content.items()} != kinds:
        raise ValueError(f"not the fields of a {cls.__name__}")
    if any(isinstance(value, int | float) and value < 0 for value in content.values()):
        raise ValueError("less than nothing")
    return cls(**content)


class ShardWriter:
    """Takes documents as they come; `finish` writes them shuffled, as a whole or not at all."""

    def __init__(self, path: Path, vocabulary: int, tokenizer: str) -> None:
        self.path, self.vocabulary, self.tokenizer = path, vocabulary, tokenizer
        self.dtype = np.dtype(dtype_of(vocabulary))
        # Without a name, so that nothing is left of it whatever happens; on disk, for a shard may outgrow memory.
        self.spool = TemporaryFile(dir=path.parent)  # noqa: SIM115 - open until finished
        self.lengths: list[int] = []
        self.bytes = self.replaced = 0

    def add(self, ids: list[int], size: int, replaced: bool) -> None:
        """One document, made from so many bytes of text."""
        self.spool.write(np.array(ids, dtype=self.dtype).data)
        self.lengths.append(len(ids))
        self.bytes += size
        self.replaced += replaced

    def finish(self, key: int) -> None:
        """Shuffle the documents by this key and write the shard."""
        lengths = np.array(self.lengths, dtype=np.int64)
        order = permuted(np.arange(len(lengths)), len(lengths), key)
        starts = np.cumsum(lengths[order]) - lengths[order]
        header = Header(
            VERSION, self.dtype.str, self.vocabulary, self.tokenizer, int(lengths.sum()), len(lengths), self.bytes,
            self.replaced, "",
        )  # fmt: skip
        digest, after_tokens = sha256(), (bytes(header.padding), starts.astype(START).tobytes())
        with self.spool, replacing(self.path) as file:
            file.write(bytes(HEADER))
            for block in chain(self._shuffled(order, lengths), after_tokens):
                digest.update(block)
                file.write(block)
            file.seek(0)
            file.write(_encoded(asdict(header) | {"sha256": digest.hexdigest()}))

    def _shuffled(self, order: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[bytes]:
        """The documents in this order, some at a time."""
        if not len(lengths):
            return
        self.spool.flush()
        tokens, ends = np.memmap(self.spool, self.dtype, "r"), np.cumsum(lengths)
        block, size = [], 0
        for document in order:
            block.append(tokens[ends[document] - lengths[document] : ends[document]])
            size += len(block[-1])
            if size >= BLOCK:
                yield np.concatenate(block).tobytes()
                block, size = [], 0
        if block:
            yield np.concatenate(block).tobytes()


def _encoded(header: dict[str, Any]) -> bytes:
    text = MAGIC + json.dumps(header).encode()
    return text.ljust(HEADER - 1) + b"\n"


@dataclass(frozen=True)
class Shard:
    """A shard to read. It is mapped into memory at the first call; no file stays open."""

    path: Path
    header: Header

    @cached_property
    def _maps(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Tokens, and the documents' starts."""
        tokens = np.memmap(self.path, self.header.dtype, "r", HEADER, (self.header.tokens,))
        return tokens, np.memmap(self.path, START, "r", self.header.starts_at, (self.header.documents,))

    def __getstate__(self) -> dict[str, Any]:
        """Without the maps: another process maps the file itself."""
        return {"path": self.path, "header": self.header}

    def read(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokens, and for each the number of its document in this shard."""
        tokens, starts = self._maps
        documents = np.searchsorted(starts, np.arange(start, stop, dtype=np.uint64), side="right") - 1
        return tokens[start:stop].astype(np.int64), documents.astype(np.int64)

    def verify(self) -> None:
        """Read all of it, and refuse it if a byte has changed since it was written."""
        with open(self.path, "rb", opener=regular) as file:
            file.seek(HEADER)
            found = file_digest(file, "sha256").hexdigest()
        if found != self.header.sha256:
            raise unusable(self.path, "is damaged (another hash than its header says)")


def unusable(path: Path, problem: str) -> InputError:
    """The error for a file of a corpus that cannot be used as it is."""
    return InputError(f"{path} {problem}: remove the folder and prepare it again")


def open_shard(path: Path) -> Shard:
    """Read the header and check it against the size of the file."""
    try:
        with open(path, "rb", opener=regular) as file:
            text = file.read(HEADER)
        size = path.stat().st_size
    except OSError as error:
        raise unusable(path, f"cannot be read ({error.strerror})") from error
    if not text.startswith(MAGIC):
        raise unusable(path, "is not a shard of tokens")
    try:
        content = json.loads(text.removeprefix(MAGIC))
        version = content["version"]
        header = from_plain(Header, content) if version == VERSION else None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise unusable(path, "is damaged (its header cannot be read)") from error
    if header is None:
        raise unusable(path, f"is of version {version}, and this ordinate reads {VERSION}")
    if header.dtype != dtype_of(header.vocabulary) or size != header.file_size:
        raise unusable(path, "is damaged (its header does not fit its size)")
    return Shard(path, header)
