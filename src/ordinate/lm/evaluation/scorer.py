"""Losses of tokens in windows: batched by length, with logits of the scored tokens alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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
class Piece:
    """A window with the tokens that it is over."""

    tokens: Tokens  # the whole text
    window: Window

    @property
    def read(self) -> Tokens:
        return self.tokens[self.window.start : self.window.stop]


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

    def losses(self, pieces: Sequence[Piece]) -> list[NDArray[np.float64]]:
        """The loss of every scored token of every window, in nats."""
        found: list[NDArray[np.float64]] = [np.empty(0)] * len(pieces)
        for numbers in _batches(pieces):
            scored = pieces[numbers[0]].window.scored
            states, targets = self._states([pieces[number].read for number in numbers], scored)
            with torch.no_grad(), self.trained.autocast():
                losses = token_losses(states.flatten(0, 1), self.model.unembedding, targets.flatten())
            for number, row in zip(numbers, losses.view_as(targets).double().cpu().numpy(), strict=True):
                found[number] = row
        return found

    def answers(
        self, pieces: Sequence[Piece], choices: Bool[Tensor, " v"]
    ) -> list[tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]]:
        """For every scored token its loss, whether it is the likeliest of all, and the likeliest of the choices."""
        found: list[tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]] = [
            (np.empty(0), np.empty(0, bool), np.empty(0, bool))
        ] * len(pieces)
        choices = choices.to(self.trained.device)
        for numbers in _batches(pieces):
            states, targets = self._states([pieces[n].read for n in numbers], pieces[numbers[0]].window.scored)
            with torch.no_grad(), self.trained.autocast():
                logits = (states @ self.model.unembedding.t()).float()
            losses = logits.logsumexp(dim=-1) - logits.gather(-1, targets[..., None])[..., 0]
            best = logits.argmax(dim=-1) == targets
            among = logits.masked_fill(~choices, float("-inf")).argmax(dim=-1) == targets
            for at, number in enumerate(numbers):
                found[number] = (losses[at].double().cpu().numpy(), best[at].cpu().numpy(), among[at].cpu().numpy())
        return found

    def _states(
        self, rows: Sequence[Tokens], scored: int
    ) -> tuple[Float[Tensor, "b scored d"], Int[Tensor, "b scored"]]:
        """The last hidden states before each scored token, and the scored tokens."""
        tokens = torch.from_numpy(np.stack(rows)).to(self.trained.device)
        with torch.no_grad(), self.trained.autocast():
            states = self.model.states(tokens[:, :-1])
        return states[:, -scored:], tokens[:, -scored:]

    @cached_property
    def past_range(self) -> str:
        """What its encodings do past the trained length."""
        from ordinate.core.encoding import EXTRAPOLATION

        words = (f"{part.name}: {EXTRAPOLATION[part.extrapolation]}" for part in self.model.parts)
        return "; ".join(dict.fromkeys(words))


def _batches(pieces: Sequence[Piece]) -> list[list[int]]:
    """Numbers of pieces that can be read together: as long, with as many scored."""
    alike: dict[tuple[int, int], list[int]] = {}
    for number, piece in enumerate(pieces):
        alike.setdefault((piece.window.context, piece.window.scored), []).append(number)
    batches = []
    for (context, _), numbers in alike.items():
        size = max(1, BATCH // context)
        batches += [numbers[start : start + size] for start in range(0, len(numbers), size)]
    return batches
