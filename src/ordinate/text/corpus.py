"""A prepared corpus: one long stream of tokens for each split, read at any position, and the training order."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.core.errors import InputError
from ordinate.core.seeds import seed_of
from ordinate.store.files import read_bytes
from ordinate.text import tokenizer
from ordinate.text.manifest import SPLITS, TOKENIZER, Manifest, Split, read_manifest, shard_name
from ordinate.text.order import permuted
from ordinate.text.shard import Shard, open_shard, unusable

Tokens = tuple[NDArray[np.int64], NDArray[np.int64]]  # tokens, and for each the number of its document


@dataclass(frozen=True)
class Corpus:
    """A folder of shards, mapped into memory when they are read. Documents begin with `<|endoftext|>`, id 0."""

    folder: Path
    manifest: Manifest
    fingerprint: str  # sha256 of the manifest: two corpora that share it hold the same tokens

    @property
    def vocabulary(self) -> int:
        """Ids are below this."""
        return self.manifest.recipe.vocabulary

    def tokens(self, split: Split) -> int:
        return int(self._ends[split][0][-1])

    def read(self, split: Split, start: int, count: int) -> Tokens:
        """So many tokens of the split's stream from `start` on, and the running number of each one's document."""
        if start < 0 or count < 0 or start + count > self.tokens(split):
            wanted = f"tokens {start:,} to {start + count:,} of {split!r}"
            raise InputError(f"{wanted} were requested, and {self.folder} has {self.tokens(split):,}")
        ends, documents = self._ends[split]
        parts: list[Tokens] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        at, stop = start, start + count
        while at < stop:
            number = int(np.searchsorted(ends, at, side="right"))
            begin = int(ends[number - 1]) if number else 0
            until = min(stop, int(ends[number]))
            tokens, local = self._shards[split][number].read(at - begin, until - begin)
            parts.append((tokens, local + (documents[number - 1] if number else 0)))
            at = until
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def token_bytes(self) -> NDArray[np.int64]:
        """Bytes of UTF-8 of each id, 0 for special ones: the denominator of bits per byte."""
        return tokenizer.token_bytes(self._tokenizer, self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """The tokens of a document that is not in the corpus."""
        return [tokenizer.END_ID, *self._tokenizer.encode(text).ids]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these tokens, without `<|endoftext|>`. Ids that no text has give nothing."""
        text: str = self._tokenizer.decode(list(tokens))
        return text

    def sequences(self, split: Split, length: int) -> int:
        """Whole sequences of `length` tokens with the one that follows: each begins where another ends."""
        if length < 1:
            raise InputError(f"a sequence has at least 1 token, got length {length}")
        return max(0, self.tokens(split) - 1) // length

    def sequence(self, split: Split, length: int, index: int) -> Tokens:
        """`length + 1` tokens and their documents: inputs are all but the last, targets all but the first."""
        count = self.enough(split, length)
        if not 0 <= index < count:
            raise InputError(f"{self.folder} has {count:,} sequences of {length:,} tokens, got index {index:,}")
        return self.read(split, index * length, length + 1)

    def enough(self, split: Split, length: int) -> int:
        """The number of sequences; an error if it is 0."""
        if count := self.sequences(split, length):
            return count
        raise InputError(
            f"{self.folder} is smaller than one sequence: {self.tokens(split):,} tokens of {split!r} for length "
            f"{length:,}: prepare more text or choose shorter sequences"
        )

    @cached_property
    def _tokenizer(self) -> Any:
        return tokenizer.load(self.folder / TOKENIZER)

    @cached_property
    def _shards(self) -> dict[Split, list[Shard]]:
        return {
            split: [Shard(self.folder / shard_name(split, number), header) for number, header in enumerate(headers)]
            for split, headers in self.manifest.shards.items()
        }

    @cached_property
    def _ends(self) -> dict[Split, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Where each shard ends in its split's stream, in tokens and in documents."""
        return {
            split: (
                np.cumsum([header.tokens for header in headers], dtype=np.int64),
                np.cumsum([header.documents for header in headers], dtype=np.int64),
            )
            for split, headers in self.manifest.shards.items()
        }


def sample(corpus: Corpus, length: int, seed: int, index: int) -> Tokens:
    """Sequence `index` (0, 1, 2 … without end) of the training order: each epoch has all, in its own order.

    It depends on the seed and the index alone, so neither a batch size nor a budget changes what comes when.
    """
    count = corpus.enough("train", length)
    epoch, at = divmod(index, count)
    return corpus.sequence("train", length, int(permuted(at, count, seed_of(seed, "order", epoch))))


def open_corpus(folder: str | Path, *, verify: bool = False) -> Corpus:
    """Open a prepared folder and check its manifest, headers and sizes; with `verify`, every hash too."""
    folder = Path(folder)
    manifest, fingerprint = read_manifest(folder)
    _check_tokenizer(folder, manifest)
    for split in SPLITS:
        for number, header in enumerate(manifest.shards[split]):
            shard = open_shard(folder / shard_name(split, number))
            if shard.header.tokenizer != manifest.tokenizer:
                raise InputError(f"{shard.path} was made with another tokenizer than {folder}'s: restore the right one")
            if shard.header != header:
                raise unusable(shard.path, "is not the shard that the manifest names")
            if verify:
                shard.verify()
    return Corpus(folder, manifest, fingerprint)


def _check_tokenizer(folder: Path, manifest: Manifest) -> None:
    path = folder / TOKENIZER
    try:
        found = sha256(read_bytes(path)).hexdigest()
    except OSError as error:
        raise unusable(path, f"cannot be read ({error.strerror})") from error
    if found != manifest.tokenizer:
        raise unusable(path, "is not the tokenizer that the manifest names")
