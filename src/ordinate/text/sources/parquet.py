"""Parquet files with a column `text`: every row is a document, every file a shard."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.core.extras import optional
from ordinate.text.sources.source import DocumentBatch, File, LocalSource, Piece, document

ROWS = 256  # read and tokenized at a time: about a megabyte of web pages


@dataclass(frozen=True)
class Parquet(LocalSource):
    """`parquet:DIR`: files *.parquet below a folder, such as a copy of a dataset from the Hub."""

    ending, what = ".parquet", "parquet files"
    kind: str = "parquet"
    expansion: float = 1.6  # compressed; of FineWeb-Edu

    def pieces(self, files: list[File]) -> list[Piece]:
        return [Piece((file,), 0, file.size) for file in files]

    def read(self, piece: Piece, downloads: Path) -> Iterator[DocumentBatch]:
        return read_rows(self.path(piece.files[0]), piece.size)


def read_rows(path: Path, size: int) -> Iterator[DocumentBatch]:
    """The documents of a file of this size. A row without text is none."""
    arrow, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            if "text" not in schema.names:
                raise InputError(f"{str(path)!r} has no column `text`, it has {', '.join(schema.names)}: rename one")
            kind = schema.field("text").type
            if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
                raise InputError(f"the column `text` of {str(path)!r} holds {kind}, not text: convert it")
            done = 0
            for table in file.iter_batches(ROWS, columns=["text"]):
                before, done = done, done + table.num_rows
                # As bytes: parquet does not promise that they are UTF-8.
                texts = table.column(0).cast(arrow.large_binary()).to_pylist()
                taken = size * done // rows - size * before // rows
                yield DocumentBatch([document(text) for text in texts if text is not None], taken)
    except arrow.ArrowException as error:
        raise InputError(f"{str(path)!r} is not a parquet file, or is damaged ({_first_line(error)})") from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or _first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
