"""Losses of tokens in windows: batched by length, with logits of the scored tokens alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.positions import Positions
from ordinate.lm.evaluation.windows import Window
from ordinate.lm.loss import token_losses
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import Transformer

BATCH = 8_192  # tokens of one pass; one window may have more

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class WindowedText:
    """A window with the tokens that it is over."""

    tokens: Tokens  # the whole text
    window: Window

    @property
    def read(self) -> Tokens:
        return self.tokens[self.window.start : self.window.stop]


class ScoredAnswer(NamedTuple):
    """For every scored token its loss, whether it is the likeliest of all, and the likeliest of the choices."""

    losses: NDArray[np.float64]
    best: NDArray[np.bool_]
    among: NDArray[np.bool_]


@dataclass(frozen=True)
class Scorer:
    """A trained model as the evaluation uses it, with its encoding as trained or changed."""

    trained: TrainedModel
    model: Transformer
    scaling: str = ""

    @staticmethod
    def of(trained: TrainedModel) -> "Scorer":
        return Scorer(trained, trained.model)

    def refusal(self, context: int) -> str:
        """Why the encoding cannot be used with so many tokens; empty if it can."""
        try:
            for part in self.model.parts:
                part.check_range(Positions.range(context))
        except InputError as error:
            return str(error)
        return ""

    def losses(self, pieces: Sequence[WindowedText]) -> list[NDArray[np.float64]]:
        """The loss of every scored token of every window, in nats."""
        found: list[NDArray[np.float64]] = [np.empty(0)] * len(pieces)
        for numbers in _batches(pieces):
            scored = pieces[numbers[0]].window.scored
            tokens = torch.from_numpy(np.stack([pieces[number].read for number in numbers])).to(self.trained.device)
            targets = tokens[:, -scored:]
            with torch.no_grad(), self.trained.autocast():
                states = self.model.states(tokens[:, :-1])[:, -scored:]
                losses = token_losses(states.flatten(0, 1), self.model.unembedding, targets.flatten())
            for number, row in zip(numbers, losses.view_as(targets).double().cpu().numpy(), strict=True):
                found[number] = row
        return found

    def answers(self, pieces: Sequence[WindowedText], choices: Bool[Tensor, " v"]) -> list[ScoredAnswer]:
        """Every scored token of windows that differ in length."""
        found: dict[int, ScoredAnswer] = {}
        choices = choices.to(self.trained.device)
        for numbers in self._padded_batches(pieces):
            batch = [pieces[number] for number in numbers]
            scored = [piece.window.scored for piece in batch]
            states, targets = self._padded_states(batch)
            with torch.no_grad(), self.trained.autocast():
                logits = (states @ self.model.unembedding.t()).float()
            losses = logits.logsumexp(dim=-1) - logits.gather(-1, targets[:, None])[:, 0]
            best = logits.argmax(dim=-1) == targets
            among = logits.masked_fill(~choices, float("-inf")).argmax(dim=-1) == targets
            parts = zip(*(values.cpu().split(scored) for values in (losses.double(), best, among)), strict=True)
            found |= {n: ScoredAnswer(*(p.numpy() for p in own)) for n, own in zip(numbers, parts, strict=True)}
        return [found[number] for number in range(len(pieces))]

    def _padded_batches(self, pieces: Sequence[WindowedText]) -> list[list[int]]:
        """Windows of about one length together, unless the angles of all tokens depend on the longest of a batch."""
        if not all(part.cacheable for part in self.model.parts):
            return [[number] for number in range(len(pieces))]
        batches: list[list[int]] = []
        for number in sorted(range(len(pieces)), key=lambda number: pieces[number].window.context):
            longest = pieces[number].window.context
            if batches and (len(batches[-1]) + 1) * longest <= BATCH:
                batches[-1].append(number)
            else:
                batches.append([number])
        return batches

    def _padded_states(self, batch: Sequence[WindowedText]) -> tuple[Float[Tensor, "m d"], Int[Tensor, " m"]]:
        """The states before all scored tokens of a batch, and these tokens. Padding comes after a row, where no token
        attends to it."""
        tokens = np.zeros((len(batch), max(piece.window.context for piece in batch)), np.int64)
        for row, piece in zip(tokens, batch, strict=True):
            row[: piece.window.context] = piece.read[:-1]
        with torch.no_grad(), self.trained.autocast():
            states = self.model.states(torch.from_numpy(tokens).to(self.trained.device))
        ends = [(piece.window.context - piece.window.scored, piece.window.context) for piece in batch]
        chosen = torch.cat([row[start:stop] for row, (start, stop) in zip(states, ends, strict=True)])
        targets = np.concatenate([piece.read[-piece.window.scored :] for piece in batch])
        return chosen, torch.from_numpy(targets).to(self.trained.device)

    @cached_property
    def past_range(self) -> str:
        """What its encodings do past the trained length."""
        from ordinate.core.encoding import EXTRAPOLATION

        words = (f"{part.name}: {EXTRAPOLATION[part.extrapolation]}" for part in self.model.parts)
        return "; ".join(dict.fromkeys(words))


def _batches(pieces: Sequence[WindowedText]) -> list[list[int]]:
    """Numbers of pieces that can be read together: as long, with as many scored."""
    alike: dict[tuple[int, int], list[int]] = {}
    for number, piece in enumerate(pieces):
        alike.setdefault((piece.window.context, piece.window.scored), []).append(number)
    batches = []
    for (context, _), numbers in alike.items():
        size = max(1, BATCH // context)
        batches += [numbers[start : start + size] for start in range(0, len(numbers), size)]
    return batches
