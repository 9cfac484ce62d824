"""Several encodings as one: embeddings, rotations and scores chain, biases add, at most one matches and one mixes."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Features, Prepared, Side
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext, Positions


class Combined(Encoding):
    """Encodings that act together, each under its own positions."""

    family = "combined"
    formula = ""

    def __init__(self, members: Sequence[Encoding]) -> None:
        super().__init__(
            members[0].shape,
            shift_invariant=all(m.shift_invariant for m in members) and not _sees_turns(members),
            cacheable=all(m.cacheable for m in members),
            causal_only=any(m.causal_only for m in members),
            sided=any(m.sided for m in members),
            axes=(members[0].shape.axes,),
            limit=min(m.limit for m in members),
            reads=tuple(dict.fromkeys(what for m in members for what in m.reads)),
            real=all(m.real for m in members),
            feature_width=sum(m.feature_width for m in members),
            past=max((m.past for m in members), key=["computes", "extends", "clips", "untrained", "refuses"].index),
        )
        self.members = nn.ModuleList(members)
        self.ordered = tuple(members)
        self.matching, self.mixing = (_only(members, hook) for hook in ("qk_scores", "weighted_values"))
        self.content = any(m.content for m in members)
        self.biasless = all(m.biasless for m in members)

    def parts(self) -> tuple[Encoding, ...]:
        return self.ordered

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        for part in self.parts():
            x = part.embed(x, positions.with_values(part.relabel(positions.values)))
        return x

    def prepare(self, positions: Positions) -> Prepared:
        return [part.prepare(positions.with_values(part.relabel(positions.values))) for part in self.parts()]

    def features(
        self, x: Float[Tensor, "b n d"], positions: Positions, before: Float[Tensor, "b m w"] | None
    ) -> Features:
        found = []
        for part, earlier in zip(self.parts(), self._split(before), strict=True):
            if part.feature_width:
                found.append(part.features(x, positions.with_values(part.relabel(positions.values)), earlier))
        return torch.cat(found, dim=-1)

    def rotate(
        self, x: Float[Tensor, "b h n e"], state: Prepared, side: Side, features: Features | None = None
    ) -> Float[Tensor, "b h n e2"]:
        for part, own, read in zip(self.parts(), state, self._split(features), strict=True):
            x = part.rotate(x, own, side, read)
        return x

    def relative_only(self) -> bool:
        for part in self.parts():
            moves = type(part).relabel is not Encoding.relabel
            if not part.biasless and (moves or not part.relative_only()):
                return False
        return True

    def relative_bias(self, gaps: Num[Tensor, " g"]) -> Float[Tensor, "#h g"] | None:
        return _sum(part.relative_bias(gaps) for part in self.parts())

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b #h q k"] | None:
        return _sum(part.bias(part.placed(context)) for part in self.parts())

    def qk_scores(
        self,
        q: Float[Tensor, "b h q e"],
        k: Float[Tensor, "b h k e"],
        context: AttentionContext,
        features: Float[Tensor, "b k w"] | None = None,
    ) -> Float[Tensor, "b h q k"]:
        for part, read in zip(self.parts(), self._split(features), strict=True):
            if part is self.matching:
                return part.qk_scores(q, k, part.placed(context), read)
        return super().qk_scores(q, k, context)

    def score_mod(
        self,
        scores: Float[Tensor, "b h q k"],
        q: Float[Tensor, "b h q e"],
        k: Float[Tensor, "b h k e"],
        context: AttentionContext,
        features: Float[Tensor, "b k w"] | None = None,
    ) -> Float[Tensor, "b h q k"]:
        for part, read in zip(self.parts(), self._split(features), strict=True):
            if type(part).score_mod is not Encoding.score_mod:
                scores = part.score_mod(scores, q, k, part.placed(context), read)
        return scores

    def weighted_values(
        self, weights: Float[Tensor, "b h q k"], v: Float[Tensor, "b h k e"], context: AttentionContext
    ) -> Float[Tensor, "b h q e"]:
        return (
            weights @ v if self.mixing is None else self.mixing.weighted_values(weights, v, self.mixing.placed(context))
        )

    def _split(self, features: Tensor | None) -> Sequence[Tensor | None]:
        """Each member's own features; None for one that reads none."""
        if features is None:
            return [None] * len(self.parts())
        found = torch.split(features, [part.feature_width for part in self.parts()], dim=-1)
        return [own if part.feature_width else None for part, own in zip(self.parts(), found, strict=True)]


def _has(member: Encoding, *hooks: str) -> bool:
    """Whether an encoding has one of these hooks of its own."""
    return any(getattr(type(member), hook) is not getattr(Encoding, hook) for hook in hooks)


def _reads_heads(member: Encoding) -> bool:
    """Whether an encoding computes with queries and keys after `rotate`."""
    return member.reads_heads and _has(member, "qk_scores", "score_mod")


def _sees_turns(members: Sequence[Encoding]) -> bool:
    """Whether somebody sees how far another member has turned queries and keys, which depends on where they stand.
    Only their plain product undoes a turn; a second turn undoes it just where the two commute."""
    turning = [m for m in members if _has(m, "rotate")]
    return len(turning) > 1 or any(_reads_heads(m) for m in members if turning and m is not turning[0])


def _check_widths(members: Sequence[Encoding]) -> None:
    """Refuse members that turn or read queries and keys beside one that gives them more channels."""
    for widening in (m for m in members if m.widens):
        for other in members:
            if other is not widening and (_has(other, "rotate") or _reads_heads(other)):
                raise InputError(
                    f"{widening.name} gives queries and keys more channels, which {other.name} does not know: combine"
                    f" {widening.name} with encodings that leave queries and keys alone"
                )


def _only(members: Sequence[Encoding], hook: str) -> Encoding | None:
    """The member that has this hook of its own."""
    found = [m for m in members if _has(m, hook)]
    if len(found) > 1:
        names, does = (
            " and ".join(m.name for m in found),
            {"qk_scores": "score queries", "weighted_values": "gather values"}[hook],
        )
        raise InputError(f"{names} both {does} in a way of their own: combine at most one such encoding")
    return found[0] if found else None


def _sum(terms: Iterator[Tensor | None]) -> Tensor | None:
    total = None
    for term in terms:
        total = term if total is None else total if term is None else total + term
    return total


def combine(*members: Encoding) -> Encoding:
    """One encoding out of several. A single one stays as it is."""
    if not members or not all(isinstance(member, Encoding) for member in members):
        raise InputError("combine takes encodings, at least one: make them with encodings.create")
    flat = [part for member in members for part in member.parts()]
    for part in flat:
        if part.shape != flat[0].shape:
            raise InputError(f"{flat[0].name} and {part.name} were made for different models and cannot be combined")
    if len({id(part) for part in flat}) < len(flat):
        raise InputError("an encoding cannot be combined with itself")
    _check_widths(flat)
    return flat[0] if len(flat) == 1 else Combined(flat)
