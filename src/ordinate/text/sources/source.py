"""What every source of text is: files, cut into pieces that are read one by one, each to become a shard."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from ordinate.core.errors import InputError

PIECE = 64 * 2**20  # bytes of input for one shard, where a source can be cut: a minute of one core
BATCH = 2**20  # bytes of text, about, that are read and tokenized at a time


class File(NamedTuple):
    name: str  # below the source's folder
    size: int
    sha256: str = ""  # where the source provides it


class Piece(NamedTuple):
    """What one worker reads and writes as one shard: whole files, or a part of one."""

    files: tuple[File, ...]
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


class Document(NamedTuple):
    text: str
    replaced: bool  # invalid UTF-8 was replaced by U+FFFD


class DocumentBatch(NamedTuple):
    """Some documents, and how many bytes of the piece they came from."""

    documents: list[Document]
    size: int


class Source(ABC):
    """A source of text. Sources are sent to other processes, so they hold plain values only."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, in a manifest."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What to call a folder of its tokens."""

    @property
    def revision(self) -> str:
        """The requested revision of a remote source that may change; empty for local files."""
        return ""

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """The default size of its vocabulary."""

    @property
    def valid(self) -> float:
        """The default share of documents for validation."""
        return 0.01

    @property
    @abstractmethod
    def expansion(self) -> float:
        """Bytes of text in a byte of its files, about."""

    @abstractmethod
    def files(self) -> tuple[list[File], dict[str, str]]:
        """Its files in a fixed order, and what else identifies this state of the source."""

    @abstractmethod
    def pieces(self, files: list[File]) -> list[Piece]:
        """The files, cut the same way every time."""

    @abstractmethod
    def read(self, piece: Piece, downloads: Path) -> Iterator[DocumentBatch]:
        """The documents of a piece, always in the same order; files that must be fetched go to `downloads`."""

    def pinned(self, origin: dict[str, str]) -> "Source":
        """The source in the state that it was found in."""
        return self

    def release(self, piece: Piece, downloads: Path) -> None:  # noqa: B027 - most sources fetch nothing
        """The piece is done: what was fetched for it may go."""


@dataclass(frozen=True)
class LocalSource(Source):
    """The files of a folder, or one file."""

    root: Path
    kind: str = ""
    vocabulary: int = 4096
    expansion: float = 1.0
    ending: ClassVar[str]
    what: ClassVar[str]  # that it reads, in errors

    @property
    def name(self) -> str:
        return Path(os.path.realpath(self.root)).stem  # `resolve` fails at links in a circle

    def files(self) -> tuple[list[File], dict[str, str]]:
        """The files below the folder, sorted by name, without hidden ones and those in hidden folders."""
        root = self.root
        if root.is_file():
            return [File(root.name, root.stat().st_size)], {}
        if not root.is_dir():
            raise InputError(f"there is no file or folder {str(root)!r} to read {self.what} from: check the path")
        found = []
        for path in root.rglob(f"*{self.ending}"):
            parts = path.relative_to(root).parts
            if path.is_file() and not any(part.startswith(".") for part in parts):
                found.append(File("/".join(parts), path.stat().st_size))
        if not found:
            raise InputError(f"no {self.what} in {str(root)!r}: name a folder that holds some (files *{self.ending})")
        return sorted(found), {}

    def path(self, file: File) -> Path:
        """Where a listed file is."""
        return self.root if self.root.is_file() else self.root / file.name


def document(raw: bytes | str) -> Document:
    """Text as UTF-8 can hold it. Invalid bytes (also half of a surrogate pair) are replaced, and marked so."""
    try:
        if isinstance(raw, bytes):
            return Document(raw.decode(), False)
        raw.encode()
        return Document(raw, False)
    except UnicodeError:
        data = raw if isinstance(raw, bytes) else raw.encode(errors="surrogatepass")
        return Document(data.decode(errors="replace"), True)


def batched(documents: Iterable[tuple[Document, int]]) -> Iterator[DocumentBatch]:
    """Documents, each with the bytes of input it took, some at a time."""
    batch, size, text = list[Document](), 0, 0
    for one, taken in documents:
        batch.append(one)
        size += taken
        text += len(one.text)
        if text >= BATCH:
            yield DocumentBatch(batch, size)
            batch, size, text = [], 0, 0
    if size:
        yield DocumentBatch(batch, size)
