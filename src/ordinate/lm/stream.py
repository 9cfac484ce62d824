"""The sequences of a step: a function of the seed and of a running number, and of nothing else.

So the order is the same for every encoding, number of ranks, micro-batch and budget, and resuming needs one number.
"""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.memory import require_memory
from ordinate.core.seeds import seed_of
from ordinate.lm.config import TrunkConfig
from ordinate.lm.ranks import Ranks
from ordinate.tasks.algorithmic import KINDS, draw_line
from ordinate.text.corpus import Corpus, sample
from ordinate.training.config_limits import STATE

NEVER = 2**63  # seeds are drawn below this
SYMBOLS = " 0 1 2 3 4 5 6 7 8 9"  # how many tokens a symbol takes depends on the tokenizer


@dataclass(frozen=True)
class TokenRows:
    """Sequences with the next token of each of their tokens."""

    tokens: Int[Tensor, "b n"]
    targets: Int[Tensor, "b k"]
    document_ids: Int[Tensor, "b n"] | None  # none: each row is of one document
    scored: Int[Tensor, "b k"] | None = None  # places of masked tokens, which are the targets; none: see above

    def to(self, device: torch.device) -> "TokenRows":
        """On a device, without waiting for the copy if the rows are pinned."""
        return self._each(lambda row: row.to(device, non_blocking=True))

    def pinned(self) -> "TokenRows":
        """In memory that a GPU copies from by itself."""
        return self._each(Tensor.pin_memory)

    def _each(self, change: Callable[[Tensor], Tensor]) -> "TokenRows":
        ids, scored = (None if part is None else change(part) for part in (self.document_ids, self.scored))
        return TokenRows(change(self.tokens), change(self.targets), ids, scored)

    def split(self, size: int) -> list["TokenRows"]:
        """The same rows in micro-batches of at most this size."""
        tokens, targets = self.tokens.split(size), self.targets.split(size)
        ids, scored = (
            [None] * len(tokens) if part is None else list(part.split(size))
            for part in (self.document_ids, self.scored)
        )
        parts = zip(tokens, targets, ids, scored, strict=True)
        return [TokenRows(t, y, None if d is None or _single(d) else d, s) for t, y, d, s in parts]


def training_rows(config: TrunkConfig, corpus: Corpus, step: int, rank: int = 0, world: int = 1) -> TokenRows:
    """The rows of a rank in a step: indices of the batch that are congruent to the rank modulo the world size."""
    numbers = range(step * config.batch, (step + 1) * config.batch)[rank::world]
    rows = _rows([_row(config, corpus, number) for number in numbers])
    return rows if config.model.causal else mask_rows(config, rows, [seed_of(config.seed, "mask", n) for n in numbers])


class RowReader:
    """The rows of a rank, in micro-batches. Those of the next step are read in a thread while a step is trained."""

    def __init__(self, config: TrunkConfig, corpus: Corpus, ranks: Ranks, micro_batch: int, *, pin: bool) -> None:
        self.config, self.corpus, self.ranks, self.micro_batch, self.pin = config, corpus, ranks, micro_batch, pin
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="rows")
        self.ahead: tuple[int, Future[list[TokenRows]]] | None = None

    def read(self, step: int) -> list[TokenRows]:
        """The micro-batches of a step. They are cut here: to see whether one has documents, its values are read."""
        rows = self.ahead[1].result() if self.ahead is not None and self.ahead[0] == step else self._draw(step)
        self.ahead = step + 1, self.thread.submit(self._draw, step + 1)
        return rows

    def _draw(self, step: int) -> list[TokenRows]:
        rows = training_rows(self.config, self.corpus, step, self.ranks.rank, self.ranks.world)
        parts = rows.split(self.micro_batch)
        return [part.pinned() for part in parts] if self.pin else parts


def validation_rows(config: TrunkConfig, corpus: Corpus, numbers: Sequence[int]) -> TokenRows:
    """Sequences of the validation split, from its start."""
    rows = _rows([corpus.sequence("valid", config.model.length, number) for number in numbers])
    return rows if config.model.causal else mask_rows(config, rows, [seed_of(0, "valid mask", n) for n in numbers])


def mask_rows(config: TrunkConfig, rows: TokenRows, seeds: Sequence[int]) -> TokenRows:
    """Rows in which a fixed number of tokens is replaced by the mask; these are to be predicted.

    All of them are replaced: none is kept or drawn at random, so that inputs and targets never agree by accident.
    """
    length, count = rows.tokens.shape[1], config.row_targets
    chosen = [np.sort(np.random.default_rng(seed).permutation(length)[:count]) for seed in seeds]
    scored = torch.from_numpy(np.stack(chosen))
    masked = rows.tokens.scatter(1, scored, config.text_vocabulary)
    return TokenRows(masked, rows.tokens.gather(1, scored), rows.document_ids, scored)


def _row(config: TrunkConfig, corpus: Corpus, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Text; or, for a share `mix` of all indices, algorithmic problems."""
    if config.mix and seed_of(config.seed, "mix", number) < config.mix * NEVER:
        return problem_row(corpus, config.model.length, config.seed, number)
    return sample(corpus, config.model.length, config.seed, number)


def problem_row(corpus: Corpus, length: int, seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Problems one after the other, each a document, until a sequence is full; the last one is cut."""
    source = random.Random(seed_of(seed, "problems", number))
    context = symbols_that_fit(corpus, length)
    tokens: list[int] = []
    document_ids: list[int] = []
    while len(tokens) <= length:
        kind = source.choice(sorted(KINDS))
        line = corpus.encode(draw_line(kind, source, context).text)
        document_ids += [document_ids[-1] + 1 if document_ids else 0] * len(line)
        tokens += line
    return np.array(tokens[: length + 1]), np.array(document_ids[: length + 1])


def symbols_that_fit(corpus: Corpus, length: int) -> int:
    """How many symbols of algorithmic problems make about so many tokens."""
    return length * len(SYMBOLS) // (2 * len(corpus.encode(SYMBOLS)))


def _rows(rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> TokenRows:
    tokens = torch.from_numpy(np.stack([tokens for tokens, _ in rows]))
    document_ids = torch.from_numpy(np.stack([document_ids for _, document_ids in rows]))[:, :-1]
    return TokenRows(tokens[:, :-1], tokens[:, 1:], None if _single(document_ids) else document_ids)


def _single(document_ids: Tensor) -> bool:
    """Whether every row is of one document, so that attention needs no document mask."""
    return bool((document_ids[:, 1:] == document_ids[:, :-1]).all())


def check_fit(config: TrunkConfig, corpus: Corpus, ranks: Ranks) -> None:
    """Refuse data that does not fit the model, and batches that ranks cannot share."""
    length = config.model.length
    if corpus.fingerprint != config.corpus:
        raise InputError(f"{corpus.folder} holds other data than this model was begun with: name the right folder")
    if corpus.vocabulary > config.text_vocabulary:
        raise InputError(
            f"{corpus.folder} has a vocabulary of {corpus.vocabulary:,}, the model one of {config.text_vocabulary:,}: "
            f"prepare it with --vocabulary {config.text_vocabulary}, or set vocabulary={corpus.vocabulary}"
        )
    for split in ("train", "valid"):
        if not corpus.sequences(split, length):
            few = f"{corpus.tokens(split):,} tokens to {split}, fewer than one sequence of {length + 1:,}"
            raise InputError(f"{corpus.folder} has {few}: prepare more text, or set a smaller length")
    if ranks.world == 1:
        require_memory(STATE * config.model.weights, f"training {config.size} with dim {config.model.dim}")
    if config.batch % ranks.world:
        raise InputError(f"a batch of {config.batch} sequences cannot be shared by {ranks.world} ranks evenly")
