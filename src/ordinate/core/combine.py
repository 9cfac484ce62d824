"""Several encodings as one: embeddings chain, rotations chain, biases add, at most one reads content."""

from collections.abc import Sequence

from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Prepared, Side
from ordinate.core.errors import InputError
from ordinate.core.place import Pair, Place


class Combined(Encoding):
    """Encodings that act together, each under its own positions."""

    family = "combined"
    formula = ""

    def __init__(self, members: Sequence[Encoding]) -> None:
        content = [m for m in members if m.content]
        if len(content) > 1:
            names = " and ".join(type(m).__name__ for m in content)
            raise InputError(f"{names} both change scores by content: combine at most one such encoding")
        super().__init__(
            members[0].shape,
            shift_invariant=all(m.shift_invariant for m in members),
            cacheable=all(m.cacheable for m in members),
            causal_only=any(m.causal_only for m in members),
            sided=any(m.sided for m in members),
            axes=(members[0].shape.axes,),
            limit=min(m.limit for m in members),
            past=max((m.past for m in members), key=["computes", "extends", "clips", "untrained", "refuses"].index),
        )
        self.members = nn.ModuleList(members)
        self.ordered = tuple(members)
        self.content = bool(content)
        self.biasless = all(m.biasless for m in members)

    def parts(self) -> tuple[Encoding, ...]:
        return self.ordered

    def embed(self, x: Float[Tensor, "b n d"], place: Place) -> Float[Tensor, "b n d"]:
        for part in self.parts():
            x = part.embed(x, place.relabelled(part.relabel(place.positions)))
        return x

    def prepare(self, place: Place) -> Prepared:
        states = []
        for part in self.parts():
            states.append(part.prepare(place.relabelled(part.relabel(place.positions))))
        return states

    def rotate(self, x: Float[Tensor, "b h n e"], state: Prepared, side: Side) -> Float[Tensor, "b h n e"]:
        for part, own in zip(self.parts(), state, strict=True):
            x = part.rotate(x, own, side)
        return x

    def gap_only(self) -> bool:
        for part in self.parts():
            moves = type(part).relabel is not Encoding.relabel
            if not part.biasless and (moves or not part.gap_only()):
                return False
        return True

    def gap_bias(self, gaps: Num[Tensor, " g"]) -> Float[Tensor, "#h g"] | None:
        total = None
        for part in self.parts():
            term = part.gap_bias(gaps)
            total = term if total is None else total if term is None else total + term
        return total

    def bias(self, pair: Pair) -> Float[Tensor, "#b #h q k"] | None:
        total = None
        for part in self.parts():
            term = part.bias(part.placed(pair))
            total = term if total is None else total if term is None else total + term
        return total

    def score(
        self, scores: Float[Tensor, "b h q k"], q: Float[Tensor, "b h q e"], k: Float[Tensor, "b h k e"], pair: Pair
    ) -> Float[Tensor, "b h q k"]:
        for part in self.parts():
            if part.content:
                return part.score(scores, q, k, part.placed(pair))
        return scores

    def mix(
        self, weights: Float[Tensor, "b h q k"], v: Float[Tensor, "b h k e"], pair: Pair
    ) -> Float[Tensor, "b h q e"]:
        for part in self.parts():
            if part.content:
                return part.mix(weights, v, part.placed(pair))
        return weights @ v


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
    return flat[0] if len(flat) == 1 else Combined(flat)
