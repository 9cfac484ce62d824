"""Probes of anyone's model: a causal language model of transformers from a local folder, with any encoding."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.interop.local_model import LocalModel, read_tokens
from ordinate.probes.attention_patterns import HeadPattern, patterns, rows_that_fit
from ordinate.probes.head_names import induction_scores, name_heads, repeated_tokens
from ordinate.probes.hidden_states import probe_state
from ordinate.probes.intervention_costs import Intervention
from ordinate.probes.interventions import frozen, permuted, shifted
from ordinate.probes.model_probe import LayerProbe, ModelProbe
from ordinate.probes.trained_run import check_sequences

LENGTH = 64  # tokens of a sequence
SHORTEST = 8  # below this no head can be told from another
SEQUENCES = 32
ABOVE_CHANCE = 0.05  # of next tokens that a model must get right for interventions to say anything


@dataclass(frozen=True)
class TransformersProbe(ModelProbe):
    """Scored by the accuracy of the next token: on a text, or on the second half of random tokens that are repeated."""

    folder: str
    architecture: str
    tokens: Literal["text", "repeated random tokens"]


@dataclass(frozen=True, eq=False)
class TransformersSubject:
    """A model, and where the tokens come from that it is probed with."""

    folder: Path
    model: LocalModel
    text: Path | None  # none: random tokens that are repeated
    length: int
    sequences: int

    @property
    def lengths(self) -> list[int]:
        """`length`, and twice as many tokens if the model takes them."""
        most = self.model.max_positions
        return [each for each in (self.length, 2 * self.length) if most is None or each <= most]

    def tokens(self, length: int, rows: int) -> Int[Tensor, "b n"]:
        if self.text is not None:
            return read_tokens(self.folder, self.text, length, rows)
        return random_repeated(self.model.vocabulary, length, rows)

    def rows(self, length: int) -> int:
        """How many sequences may attend at once."""
        return min(self.sequences, rows_that_fit(self.model.heads, length))


def open_transformers(
    folder: Path, text: Path | None = None, sequences: int = SEQUENCES, length: int = LENGTH
) -> TransformersSubject:
    """Refuse, before anything is measured, what cannot be probed."""
    check_sequences(sequences)
    if length < SHORTEST:
        raise InputError(f"a model is probed with sequences of at least {SHORTEST} tokens, got {length}")
    model = LocalModel.load(folder)
    if model.max_positions is not None and length > model.max_positions:
        raise InputError(f"{model.name} has {model.max_positions} positions, fewer than a length of {length}")
    return TransformersSubject(folder, model, text, length, sequences)


def probe_transformers(subject: TransformersSubject) -> TransformersProbe:
    """Heads at each length; hidden states and interventions at the first."""
    model, length, text = subject.model, subject.length, subject.text
    attention = {n: tuple(head_patterns(model, subject.tokens(n, subject.rows(n)))) for n in subject.lengths}
    tokens = subject.tokens(length, subject.sequences)
    interventions = tuple(position_costs(model, tokens, scored_from=1 if text is not None else length // 2))
    return TransformersProbe(
        metric="accuracy", learned=not interventions or interventions[0].before >= ABOVE_CHANCE, length=length,
        lengths=tuple(subject.lengths), heads=tuple(name_heads(attention, length, _induction(subject))),
        attention=attention, layers=tuple(layer_probes(model, tokens)), interventions=interventions,
        folder=str(subject.folder), architecture=model.name,
        tokens="text" if text is not None else "repeated random tokens",
    )  # fmt: skip


def attention_maps(subject: TransformersSubject) -> list[Float[Tensor, "h n n"]]:
    """The attention of every layer on the first sequence, for pictures."""
    maps: list[Tensor] = []
    subject.model.attention(subject.tokens(subject.length, 1), lambda layer, weights: maps.append(weights[0]))
    return maps


def random_repeated(vocabulary: int, length: int, rows: int) -> Int[Tensor, "b n"]:
    """Random tokens, then the same again."""
    half = torch.randint(
        vocabulary, (rows, (length + 1) // 2), generator=generator(0, "probe", "random tokens", length)
    )
    return torch.cat((half, half), dim=1)[:, :length]


def head_patterns(model: LocalModel, tokens: Int[Tensor, "b n"]) -> list[HeadPattern]:
    """Of every head on these sequences."""
    return patterns(partial(model.attention, tokens), causal=True)


def _induction(subject: TransformersSubject) -> list[float] | None:
    model, length = subject.model, subject.length
    repeated = repeated_tokens(model.vocabulary, length, subject.rows(length))
    return induction_scores([(period, partial(model.attention, rows)) for period, rows in repeated]) or None


def layer_probes(model: LocalModel, tokens: Int[Tensor, "b n"]) -> list[LayerProbe]:
    """Readers, rank and similarity at every depth, beside the same architecture with fresh weights."""
    both = zip(model.states(tokens), model.untrained().states(tokens), strict=True)
    return [
        LayerProbe(depth, probe_state(trained), probe_state(untrained))
        for depth, (trained, untrained) in enumerate(both)
    ]


def position_costs(model: LocalModel, tokens: Int[Tensor, "b n"], scored_from: int) -> list[Intervention]:
    """Positions permuted, shifted and frozen; none where the model takes no position ids."""
    if not model.takes_positions:
        return []
    length = tokens.shape[1]
    plain = torch.arange(length).view(1, -1, 1)
    room = length if model.max_positions is None else model.max_positions - length
    changed = {
        "permute": permuted(plain, len(tokens)),
        "shift within": shifted(plain, min(length, room)) if room > 0 else None,
        "freeze": frozen(plain),
    }
    before = accuracy(model, tokens, plain[..., 0], scored_from)
    return [
        Intervention("positions", name, length, before, accuracy(model, tokens, positions[..., 0], scored_from), False)
        for name, positions in changed.items()
        if positions is not None
    ]


def accuracy(model: LocalModel, tokens: Int[Tensor, "b n"], positions: Int[Tensor, "#b n"], scored_from: int) -> float:
    """How often the next token has the largest logit, from the token `scored_from` on."""
    guesses = model.run(tokens, positions).logits[:, :-1].argmax(dim=-1)
    return float((guesses == tokens[:, 1:])[:, scored_from - 1 :].double().mean())
