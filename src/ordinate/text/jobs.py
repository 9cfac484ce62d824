"""The two jobs of a worker: learn a tokenizer, and turn one piece of a source into shards of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ordinate.core.seeds import seed_of
from ordinate.store.files import read_bytes, write_atomic
from ordinate.text.manifest import SPLITS, TOKENIZER, shard_name
from ordinate.text.pool import Advance
from ordinate.text.shard import ShardWriter
from ordinate.text.sources.source import DocumentBatch, Piece, Source
from ordinate.text.split import split_of
from ordinate.text.tokenizer import END_ID, learn, load


@dataclass(frozen=True)
class PreparedSource:
    """A source, and the folder that its tokens are kept in."""

    source: Source
    folder: Path

    @property
    def downloads(self) -> Path:
        return self.folder / "downloads"

    def has(self, number: int) -> bool:
        """Whether a piece is done: its two shards are written one after the other, the one to train on last."""
        return (self.folder / shard_name("train", number)).exists()

    def batches(self, piece: Piece) -> Iterator[DocumentBatch]:
        """The documents of a piece that hold any text."""
        for batch in self.source.read(piece, self.downloads):
            yield DocumentBatch([document for document in batch.documents if document.text], batch.size)


@dataclass(frozen=True)
class LearnTokenizer:
    """Learns a tokenizer from the first so many bytes of text; what is for validation is not looked at."""

    kept: PreparedSource
    pieces: list[Piece]
    vocabulary: int
    valid_below: int
    most: int

    def __call__(self, advance: Advance) -> None:
        write_atomic(self.kept.folder / TOKENIZER, learn(self._texts(advance), self.vocabulary).encode())

    def _texts(self, advance: Advance) -> Iterator[str]:
        left = self.most
        for piece in self.pieces:
            for batch in self.kept.batches(piece):
                for text, _ in batch.documents:
                    if split_of(text, self.valid_below) == "train":
                        yield text
                        left -= len(text.encode())
                        if left <= 0:
                            return
                advance(batch.size)


@dataclass(frozen=True)
class TokenizePiece:
    """Makes two shards of a piece, one for each split."""

    kept: PreparedSource
    piece: Piece
    number: int
    vocabulary: int
    valid_below: int
    seed: int

    def __call__(self, advance: Advance) -> None:
        path = self.kept.folder / TOKENIZER
        tokenizer, digest = load(path), sha256(read_bytes(path)).hexdigest()
        shards = {
            split: ShardWriter(self.kept.folder / shard_name(split, self.number), self.vocabulary, digest)
            for split in SPLITS
        }
        for documents, size in self.kept.batches(self.piece):
            encoded = tokenizer.encode_batch_fast([document.text for document in documents])
            for (text, replaced), tokens in zip(documents, encoded, strict=True):
                shards[split_of(text, self.valid_below)].add([END_ID, *tokens.ids], len(text.encode()), replaced)
            advance(size)
        for split in reversed(SPLITS):  # the one to train on last: it shows that both are there
            shards[split].finish(seed_of(self.seed, "documents", split, self.number))
        self.kept.source.release(self.piece, self.kept.downloads)
