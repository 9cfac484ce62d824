"""JSON lines: every line is an object with the field `text`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.text.sources.source import PIECE, Document, DocumentBatch, File, LocalSource, Piece, batched, document


@dataclass(frozen=True)
class Jsonl(LocalSource):
    """`jsonl:FILE`, or a folder of files *.jsonl. Files are cut at fixed offsets; a line belongs to where it begins."""

    ending, what = ".jsonl", "JSON lines"
    kind: str = "jsonl"

    def pieces(self, files: list[File]) -> list[Piece]:
        cuts = [(file, start) for file in files for start in range(0, file.size, PIECE)]
        return [Piece((file,), start, min(start + PIECE, file.size)) for file, start in cuts]

    def read(self, piece: Piece, downloads: Path) -> Iterator[DocumentBatch]:
        return batched(self._documents(piece))

    def _documents(self, piece: Piece) -> Iterator[tuple[Document, int]]:
        path = self.path(piece.files[0])
        try:
            with open(path, "rb") as file:
                at = piece.start
                if at:
                    file.seek(at - 1)
                    at += len(file.readline()) - 1  # the end of a line that began before, or the end of one alone
                while at < piece.stop and (line := file.readline()):
                    if line.strip():
                        yield _document(path, line, at), len(line)
                    at += len(line)
        except OSError as error:
            raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error


def _document(path: Path, line: bytes, at: int) -> Document:
    whole = document(line)
    try:
        content = json.loads(whole.text)
    except (ValueError, RecursionError):
        raise InputError(f"{_line(path, at)} is not JSON: mend or remove it") from None
    if not isinstance(content, dict) or not isinstance(content.get("text"), str):
        raise InputError(f"{_line(path, at)} has no text in a field `text`: mend or remove it")
    found = document(content["text"])
    return Document(found.text, whole.replaced or found.replaced)


def _line(path: Path, at: int) -> str:
    """The number and the file of the line that begins at this byte."""
    with open(path, "rb") as file:
        lines = 1
        while at > 0 and (block := file.read(min(at, 2**20))):
            lines += block.count(b"\n")
            at -= len(block)
    return f"line {lines:,} of {str(path)!r}"
