"""FineWeb-Edu (Penedo and others 2024, arXiv 2406.17557) from the Hugging Face Hub, file by file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ordinate.text.sources import hub
from ordinate.text.sources.parquet import read_rows
from ordinate.text.sources.source import DocumentBatch, File, Piece, Source

DATASET = "HuggingFaceFW/fineweb-edu"
CONFIGURATIONS = {"sample-10BT": "sample/10BT", "sample-100BT": "sample/100BT", "default": "data"}


@dataclass(frozen=True)
class FineWeb(Source):
    """`fineweb-edu`. The revision is looked up once and kept as the commit that it was."""

    configuration: str = "sample-10BT"
    revision: str = "main"
    vocabulary: int = 65_536
    expansion: float = 1.6

    @property
    def kind(self) -> str:
        return f"fineweb-edu:{self.configuration}"

    @property
    def name(self) -> str:
        return f"fineweb-edu-{self.configuration}"

    def files(self) -> tuple[list[File], dict[str, str]]:
        return _looked_up(self.configuration, self.revision)

    def pieces(self, files: list[File]) -> list[Piece]:
        return [Piece((file,), 0, file.size) for file in files]

    def read(self, piece: Piece, downloads: Path) -> Iterator[DocumentBatch]:
        return read_rows(hub.fetch(DATASET, self.revision, piece.files[0], downloads), piece.size)

    def pinned(self, origin: dict[str, str]) -> "FineWeb":
        return replace(self, revision=origin["commit"])

    def release(self, piece: Piece, downloads: Path) -> None:
        hub.forget(piece.files[0], downloads)


@cache  # a branch may move between two lookups
def _looked_up(configuration: str, revision: str) -> tuple[list[File], dict[str, str]]:
    commit = hub.resolve(DATASET, revision)
    files = hub.list_files(DATASET, commit, CONFIGURATIONS[configuration], ".parquet")
    return files, {"dataset": DATASET, "commit": commit}
