"""Plain text: every file is a document."""

import platform
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.text.sources.source import PIECE, Document, DocumentBatch, File, LocalSource, Piece, batched, document


@dataclass(frozen=True)
class TextFiles(LocalSource):
    """`text:DIR`: all files below a folder but hidden ones, in the order of their names."""

    ending, what = "", "text files"
    kind: str = "text"
    piece: int = PIECE

    def pieces(self, files: list[File]) -> list[Piece]:
        """Neighbors together, until there is enough of them."""
        pieces, group, size = list[Piece](), list[File](), 0
        for file in files:
            group.append(file)
            size += file.size
            if size >= self.piece:
                pieces.append(Piece(tuple(group), 0, size))
                group, size = [], 0
        if group:
            pieces.append(Piece(tuple(group), 0, size))
        return pieces

    def read(self, piece: Piece, downloads: Path) -> Iterator[DocumentBatch]:
        return batched(self._documents(piece))

    def _documents(self, piece: Piece) -> Iterator[tuple[Document, int]]:
        for file in piece.files:
            path = self.path(file)
            try:
                yield document(path.read_bytes()), file.size
            except OSError as error:
                raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error


@dataclass(frozen=True)
class StandardLibrary(TextFiles):
    """`stdlib`: the sources of Python's standard library without its tests: real text on every machine, no network."""

    ending, what = ".py", "sources"
    root: Path = Path(sysconfig.get_path("stdlib"))
    kind: str = "stdlib"
    valid: float = 0.05  # 12 MB in all: less would be a handful of files
    piece: int = 2**22  # and larger pieces too few for the cores

    @property
    def name(self) -> str:
        return self.kind

    def files(self) -> tuple[list[File], dict[str, str]]:
        """Debian and others leave tests out, and put packages of their own beside it."""
        left_out = {"site-packages", "dist-packages", "test", "tests", "idle_test"}
        files, _ = super().files()
        own = [file for file in files if left_out.isdisjoint(file.name.split("/"))]
        return own, {"python": platform.python_version()}
