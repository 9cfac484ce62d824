"""A request to prepare text, checked before anything is read or written."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store.files import read_bytes
from ordinate.text import tokenizer
from ordinate.text.manifest import TOKENIZER, CorpusRecipe, Survey, read_recipe
from ordinate.text.sources import Source, find_source
from ordinate.text.sources.source import Piece

TOKENIZER_BYTES = 10**9  # of text to learn a tokenizer from: more changes little, and takes much memory


@dataclass(frozen=True)
class PrepareRequest:
    """A source of text, and everything that its tokens depend on."""

    source: Source
    recipe: CorpusRecipe
    tokenizer: Path | None  # of another corpus; none: one is learned

    def pieces(self, survey: Survey) -> list[Piece]:
        """The pieces of the source; each becomes a shard."""
        return self.source.pieces(survey.files)[: self.recipe.max_shards or None]


def request(
    source: str = "stdlib",
    *,
    vocabulary: int | None = None,
    tokenizer: str | Path | None = None,
    tokenizer_bytes: int = TOKENIZER_BYTES,
    valid: float | None = None,
    seed: int = 0,
    max_shards: int | None = None,
    revision: str = "",
) -> PrepareRequest:
    """All of it may be left out: `request("text:notes", vocabulary=8192)`. Every problem is one sentence."""
    found = find_source(source, revision)
    path = None if tokenizer is None else _tokenizer_file(Path(tokenizer))
    if vocabulary is None:
        vocabulary = found.vocabulary if path is None else _vocabulary(path)
    valid = found.valid if valid is None else valid
    _check(vocabulary, valid, seed, max_shards, tokenizer_bytes, path)
    digest = "" if path is None else sha256(read_bytes(path)).hexdigest()
    recipe = CorpusRecipe(
        source=found.kind, revision=found.revision, max_shards=max_shards or 0, vocabulary=vocabulary,
        tokenizer=digest, tokenizer_bytes=tokenizer_bytes, valid=float(valid), seed=seed,
    )  # fmt: skip
    return PrepareRequest(found, recipe, path)


def _check(
    vocabulary: int, valid: float, seed: int, max_shards: int | None, tokenizer_bytes: int, path: Path | None
) -> None:
    problems = []
    if not tokenizer.SMALLEST <= vocabulary <= tokenizer.LARGEST:
        problems.append(f"vocabulary must be from {tokenizer.SMALLEST} to {tokenizer.LARGEST:,}, got {vocabulary:,}")
    elif path is not None and (size := tokenizer.load(path).get_vocab_size()) > vocabulary:
        problems.append(f"the tokenizer {path} has {size:,} ids, more than a vocabulary of {vocabulary:,}")
    if not 0 < valid < 1:
        problems.append(f"the share of documents for validation must lie between 0 and 1, got {valid:g}")
    if seed < 0:
        problems.append(f"seed must be at least 0, got {seed}")
    if max_shards is not None and max_shards < 1:
        problems.append(f"max_shards must be at least 1, got {max_shards}")
    if tokenizer_bytes < 1:
        problems.append(f"tokenizer_bytes must be at least 1, got {tokenizer_bytes}")
    if problems:
        raise InputError("; ".join(problems))


def _tokenizer_file(path: Path) -> Path:
    """A file, or the one of a prepared folder."""
    path = path / TOKENIZER if path.is_dir() else path
    tokenizer.load(path)
    return path


def _vocabulary(path: Path) -> int:
    """The vocabulary of the tokenizer's corpus; without one, the size of the tokenizer."""
    known = read_recipe(path.parent)
    return int(tokenizer.load(path).get_vocab_size()) if known is None else known[0].vocabulary
