"""Several encodings as one: embeddings, rotations and score_mods are applied in turn, biases add up.

Every member sees its own relabeled positions and its own slice of the features. At most one member may define
`qk_scores`, and at most one `weighted_values`.
"""

from collections.abc import Iterator, Sequence
from typing import get_args

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Embeddings, Encoding, Extrapolation, Features, Keys, Prepared, Queries, Scores, Side
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext, Positions


class Combined(Encoding):
    """Encodings that act together, each at its own relabeled positions."""

    family = "combined"
    formula = ""

    def __init__(self, members: Sequence[Encoding]) -> None:
        super().__init__(
            members[0].shape,
            shift_invariant=all(m.shift_invariant for m in members) and not _reads_rotated(members),
            cacheable=all(m.cacheable for m in members),
            causal_only=any(m.causal_only for m in members),
            side_dependent=any(m.side_dependent for m in members),
            axes=(members[0].shape.axes,),
            max_positions=min(m.max_positions for m in members),
            extra_inputs=tuple(dict.fromkeys(what for m in members for what in m.extra_inputs)),
            real_positions=all(m.real_positions for m in members),
            feature_width=sum(m.feature_width for m in members),
            extrapolation=max((m.extrapolation for m in members), key=get_args(Extrapolation).index),
        )
        self.members = nn.ModuleList(members)
        self.ordered = tuple(members)
        self.scoring, self.weighting = (_only(members, hook) for hook in ("qk_scores", "weighted_values"))
        self.needs_scores = any(m.needs_scores for m in members)
        self.has_bias = any(m.has_bias for m in members)

    def parts(self) -> tuple[Encoding, ...]:
        return self.ordered

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        for part in self.parts():
            x = part.embed(x, part.relabel_positions(positions))
        return x

    def prepare(self, positions: Positions) -> Prepared:
        return [part.prepare(part.relabel_positions(positions)) for part in self.parts()]

    def features(self, x: Embeddings, positions: Positions, before: Features | None) -> Features:
        features = []
        for part, earlier in zip(self.parts(), self._split(before), strict=True):
            if part.feature_width:
                features.append(part.features(x, part.relabel_positions(positions), earlier))
        return torch.cat(features, dim=-1)

    def rotate(
        self, x: Float[Tensor, "b h n e"], state: Prepared, side: Side, features: Features | None = None
    ) -> Float[Tensor, "b h n e2"]:
        for part, own, read in zip(self.parts(), state, self._split(features), strict=True):
            x = part.rotate(x, own, side, read)
        return x

    def relative_only(self) -> bool:
        biased = [part for part in self.parts() if part.has_bias]
        return not any(part.overrides("relabel") or not part.relative_only() for part in biased)

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "#h g"] | None:
        return _sum(part.relative_bias(relative) for part in self.parts())

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b #h q k"] | None:
        return _sum(part.bias(part.relabel_context(context)) for part in self.parts())

    def qk_scores(self, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None) -> Scores:
        for part, read in zip(self.parts(), self._split(features), strict=True):
            if part is self.scoring:
                return part.qk_scores(q, k, part.relabel_context(context), read)
        return super().qk_scores(q, k, context)

    def score_mod(
        self, scores: Scores, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None
    ) -> Scores:
        for part, read in zip(self.parts(), self._split(features), strict=True):
            if part.overrides("score_mod"):
                scores = part.score_mod(scores, q, k, part.relabel_context(context), read)
        return scores

    def weighted_values(self, weights: Scores, v: Keys, context: AttentionContext) -> Queries:
        part = self.weighting
        return weights @ v if part is None else part.weighted_values(weights, v, part.relabel_context(context))

    def _split(self, features: Tensor | None) -> Sequence[Tensor | None]:
        """The features of every member; None for a member without features."""
        if features is None:
            return [None] * len(self.parts())
        split = torch.split(features, [part.feature_width for part in self.parts()], dim=-1)
        return [own if part.feature_width else None for part, own in zip(self.parts(), split, strict=True)]


def _reads_heads(member: Encoding) -> bool:
    """Whether an encoding uses rotated queries and keys."""
    return member.reads_heads and member.overrides("qk_scores", "score_mod")


def _reads_rotated(members: Sequence[Encoding]) -> bool:
    """Whether a member uses queries and keys that another member has rotated by their absolute positions. The plain
    product of both cancels a rotation; a second rotation does so only if the two commute."""
    rotating = [m for m in members if m.overrides("rotate")]
    return len(rotating) > 1 or any(_reads_heads(m) for m in members if rotating and m is not rotating[0])


def _check_widths(members: Sequence[Encoding]) -> None:
    """Refuse members that rotate or read queries and keys beside one that adds channels to them."""
    for widening in (m for m in members if m.widens):
        for other in members:
            if other is not widening and (other.overrides("rotate") or _reads_heads(other)):
                raise InputError(
                    f"{widening.name} adds channels to queries and keys, which {other.name} does not support: combine"
                    f" {widening.name} with encodings that do not change queries and keys"
                )


def _only(members: Sequence[Encoding], hook: str) -> Encoding | None:
    """The one member that overrides this hook, if any."""
    having = [m for m in members if m.overrides(hook)]
    if len(having) > 1:
        names = " and ".join(m.name for m in having)
        raise InputError(f"{names} both define {hook}: combine at most one such encoding")
    return having[0] if having else None


def _sum(terms: Iterator[Tensor | None]) -> Tensor | None:
    total = None
    for term in terms:
        total = term if total is None else total if term is None else total + term
    return total


def combine(*members: Encoding) -> Encoding:
    """Combine several encodings into one. A single one is returned unchanged."""
    if not members or not all(isinstance(member, Encoding) for member in members):
        raise InputError("combine takes at least one encoding: create them with encodings.create")
    flat = [part for member in members for part in member.parts()]
    for part in flat:
        if part.shape != flat[0].shape:
            raise InputError(f"{flat[0].name} and {part.name} were created for different models: use one shape")
    if len({id(part) for part in flat}) < len(flat):
        raise InputError("an encoding cannot be combined with itself")
    _check_widths(flat)
    return flat[0] if len(flat) == 1 else Combined(flat)
