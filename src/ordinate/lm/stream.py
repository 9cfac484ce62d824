"""The sequences that a step learns from: a function of the seed and of a running number, and of nothing else.

So the order is the same for every encoding, every number of ranks, every cut of a batch and every budget; a state to
resume from is one number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.seeds import seed_of
from ordinate.lm.config import TrunkConfig
from ordinate.lm.problems import problem_row
from ordinate.text.corpus import Corpus, sample

NEVER = 2**63  # seeds are drawn below this


@dataclass(frozen=True)
class Rows:
    """Sequences with what follows each of their tokens."""

    tokens: Int[Tensor, "b n"]
    targets: Int[Tensor, "b n"]
    document_ids: Int[Tensor, "b n"] | None  # none: each row is of one document

    def to(self, device: torch.device) -> "Rows":
        document_ids = None if self.document_ids is None else self.document_ids.to(device)
        return Rows(self.tokens.to(device), self.targets.to(device), document_ids)

    def split(self, size: int) -> list["Rows"]:
        """The same rows, so many at a time."""
        parts = range(0, len(self.tokens), size)
        return [
            rows_of(self.tokens[i : i + size], self.targets[i : i + size], self.document_ids, i, size) for i in parts
        ]


def rows_of(tokens: Tensor, targets: Tensor, document_ids: Tensor | None, start: int, size: int) -> Rows:
    own = None if document_ids is None else document_ids[start : start + size]
    return Rows(tokens, targets, None if own is None or _single(own) else own)


def training_rows(config: TrunkConfig, corpus: Corpus, step: int, rank: int = 0, world: int = 1) -> Rows:
    """What a rank learns from in a step: of the batch's running numbers, those that leave its own rest."""
    numbers = range(step * config.batch, (step + 1) * config.batch)[rank::world]
    return _rows([_row(config, corpus, number) for number in numbers])


def validation_rows(config: TrunkConfig, corpus: Corpus, numbers: Sequence[int]) -> Rows:
    """Sequences of the validation split, from its start."""
    return _rows([corpus.sequence("valid", config.model.length, number) for number in numbers])


def _row(config: TrunkConfig, corpus: Corpus, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Text, or in a share of all places an algorithmic problem."""
    if config.mix and seed_of(config.seed, "mix", number) < config.mix * NEVER:
        return problem_row(corpus, config.model.length, config.seed, number)
    return sample(corpus, config.model.length, config.seed, number)


def _rows(rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> Rows:
    tokens = torch.from_numpy(np.stack([tokens for tokens, _ in rows]))
    document_ids = torch.from_numpy(np.stack([document_ids for _, document_ids in rows]))[:, :-1]
    return Rows(tokens[:, :-1], tokens[:, 1:], None if _single(document_ids) else document_ids)


def _single(document_ids: Tensor) -> bool:
    """Whether every row is of one document, so that there is nothing to keep apart."""
    return bool((document_ids[:, 1:] == document_ids[:, :-1]).all())
