"""The protocol that every positional encoding follows.

Letters: b batch, n tokens, q queries, k keys, h heads, e head width, d model width, g gaps.
"""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.errors import AxesError, CausalError, InputError
from ordinate.core.parameters import LARGEST_NUMBER, LARGEST_WHOLE
from ordinate.core.positions import LARGEST_POSITION, AttentionContext, Positions

Prepared = Any  # whatever `prepare` hands to `rotate`: angles, tables, or nothing
Side = Literal["q", "k"]
Past = Literal["computes", "extends", "clips", "untrained", "refuses"]
Reads = Literal["segments", "tokens", "neighbors", "relation"]
Features = Float[Tensor, "b _ w"]  # of some tokens: those of a pass, or those before it

FAMILIES = {
    "none": "nothing at all",
    "added": "a vector is added to each token embedding",
    "rotation": "queries and keys are turned or scaled by position",
    "bias": "a number is added to each score, by position alone",
    "content": "scores or values change by position and content together",
}

PAST_MEANS = {
    "computes": "a formula holds at any position",
    "extends": "stretches what was learned over the longer sequence",
    "clips": "treats everything farther away as the farthest it knows",
    "untrained": "has rows that training never touched",
    "refuses": "raises an error",
}


@dataclass(frozen=True)
class Shape:
    """What an encoding must know of the model around it. `length` is the trained length."""

    dim: int
    heads: int
    length: int
    layers: int = 1
    causal: bool = True
    axes: int = 1
    head_dim: int = 0  # 0: dim / heads
    token_size: float | None = None  # root mean square of the token embeddings at the start; none: unknown

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name == "head_dim" else 1
            whole = isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_WHOLE
            if field.name not in ("causal", "token_size") and not whole:
                edges = f"at least {least} and at most {LARGEST_WHOLE}"
                raise InputError(f"{field.name} must be a whole number of {edges}, got {value!r}")
        if not isinstance(self.causal, bool):
            raise InputError(f"causal must be True or False, got {self.causal!r}")
        if self.head_dim == 0:
            if self.dim % self.heads:
                raise InputError(f"{self.heads} heads do not divide dim {self.dim}: choose dim divisible by heads")
            object.__setattr__(self, "head_dim", self.dim // self.heads)
        size = self.token_size
        number = isinstance(size, int | float) and not isinstance(size, bool) and 0 < size <= LARGEST_NUMBER
        if size is not None and not number:
            raise InputError(f"token_size must be a number above 0, or None, got {size!r}")

    def matched(self, size: float | None, scale_tokens: bool = False) -> float | None:
        """The root mean square that something added to token embeddings has at the start: `size` times theirs.

        None where the values of the definition are meant: if no size is asked for, or that of the tokens is unknown.
        """
        if size is None or self.token_size is None:
            return None
        return size * self.token_size * (math.sqrt(self.dim) if scale_tokens else 1.0)


@dataclass(frozen=True)
class Paper:
    """Where an encoding comes from."""

    title: str
    authors: tuple[str, ...]
    year: int
    arxiv: str = ""
    venue: str = ""

    def bibtex(self) -> str:
        """An entry to paste into a bibliography."""
        key = f"{self.authors[0].split()[-1].lower()}{self.year}{self.title.split()[0].strip(':,').lower()}"
        lines = [
            f"  title = {{{self.title}}}",
            f"  author = {{{' and '.join(self.authors)}}}",
            f"  year = {{{self.year}}}",
        ]
        if self.venue:
            lines.append(f"  booktitle = {{{self.venue}}}")
        if self.arxiv:
            lines += [f"  eprint = {{{self.arxiv}}}", "  archivePrefix = {arXiv}"]
        return f"@{'inproceedings' if self.venue else 'misc'}{{{key},\n" + ",\n".join(lines) + "\n}"


class Encoding(nn.Module):
    """Every hook does nothing unless an encoding overrides it; a subclass states what it does in plain words.

    Subclasses take a `Shape` and keyword parameters annotated with `Annotated[type, Param(...)]`. The docstring's
    first paragraph is shown to users.
    """

    family: ClassVar[str] = "other"  # one of FAMILIES
    usual: ClassVar[bool] = False  # one of those that a comparison takes when none are named
    formula: ClassVar[str] = ""  # LaTeX
    paper: ClassVar[Paper | None] = None
    reads_heads: ClassVar[bool] = (
        True  # `qk_scores` and `score_mod`, if it has them, look at q and k, not at scores alone
    )
    widens: ClassVar[bool] = False  # `rotate` gives more channels than it gets
    parameters_given: dict[str, Any]  # to `encodings.create`, checked

    def __init__(
        self,
        shape: Shape,
        *,
        past: Past = "computes",
        shift_invariant: bool = False,
        causal_only: bool = False,
        per_layer: bool = False,
        cacheable: bool = True,
        sided: bool = True,
        axes: tuple[int, ...] = (1,),
        limit: int = LARGEST_POSITION,
        reads: tuple[Reads, ...] = (),
        real: bool = False,
        feature_width: int = 0,
        unshared: str = "",
        exempt: dict[str, str] | None = None,
    ) -> None:
        """Declared by each instance, because parameters decide it.

        past: what happens beyond the trained length. shift_invariant: adding one number to all positions changes
        nothing. per_layer: each layer has parameters of its own. cacheable: a rotated key stays right in a cache.
        sided: `rotate` treats queries and keys differently; if not, both are turned in one call. axes: how many
        position axes it can read. limit: the first position it cannot take. reads: what it must be told beside
        positions (`neighbors`: `embed` looks at other tokens, so a cached step gives it all of them). real: positions
        may be fractions and negative. feature_width: how many numbers per token `features` gives. unshared: `rotate`
        turns every head its own way, so heads cannot share keys, unless this is set ("per_head=false"). exempt:
        contract tests that it cannot pass, each with the reason.
        """
        super().__init__()
        self.name = name = type(self).__module__.rpartition(".")[2]
        if shape.axes not in axes:
            can = " or ".join(map(str, axes))
            raise AxesError(f"{name} reads positions with {can} axes, but the model's have {shape.axes}")
        if causal_only and not shape.causal:
            raise CausalError(f"{name} is defined for causal attention alone: use it with causal=True")
        self.shape = shape
        self.past: Past = past
        self.causal_only = causal_only
        self.axes = axes
        self.shift_invariant = shift_invariant
        self.per_layer = per_layer
        self.cacheable = cacheable
        self.sided = sided
        self.limit = limit
        self.reads = reads
        self.real = real
        self.feature_width = feature_width
        self.unshared = unshared
        self.exempt = exempt or {}
        self.content = any(
            getattr(type(self), hook) is not getattr(Encoding, hook)
            for hook in ("qk_scores", "score_mod", "weighted_values")
        )
        self.biasless = type(self).bias is Encoding.bias and type(self).relative_bias is Encoding.relative_bias
        if (feature_width > 0) != (type(self).features is not Encoding.features) and self.family != "combined":
            raise InputError(f"{name} has feature_width {feature_width}, which belongs to a features hook: give both")
        if per_layer and type(self).embed is not Encoding.embed:
            raise InputError(f"{name} changes embeddings, which happens once: it cannot have parameters per layer")

    def check_range(self, positions: Positions, more: int = 0) -> None:
        """Refuse positions that the encoding cannot take; `more` stand after the last. Compiled code cannot look."""
        if positions.first is not None:
            largest: float = positions.first + positions.length - 1
        elif positions.values.is_meta or torch.compiler.is_compiling():
            return
        else:
            largest = positions.values.max().item()
        if largest + more >= self.limit:
            why = " (one more than the last token, for the read-out)" if more else ""
            raise InputError(
                f"position {largest + more:g}{why} is out of range: {self.name} {self.past} from position"
                f" {self.limit} on (trained length {self.shape.length})"
            )

    def check_heads(self, found: int) -> None:
        """Refuse fewer heads of keys than of queries where every head turns its own way."""
        heads = self.shape.heads
        if self.unshared and found != heads:
            some = "1 head stands" if found == 1 else f"{found} heads stand"
            raise InputError(
                f"{self.name} turns every head its own way, but {some} for {heads}: set kv_heads to heads, or set"
                f" {self.unshared}"
            )

    def reset(self, generator: torch.Generator) -> None:
        """Fill the parameters with their starting values, drawing from this generator alone."""

    # Hooks, in the order in which a model calls them.

    def relabel(self, positions: Num[Tensor, "#b n axes"]) -> Num[Tensor, "#b n axes"]:
        """Other positions in place of the given ones (interpolated, clipped, normalized); once per forward."""
        return positions

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        """Change token embeddings; once per forward."""
        return x

    def prepare(self, positions: Positions) -> Prepared:
        """What `rotate` needs and depends on positions alone; once per forward, shared by layers."""
        return None

    def features(
        self, x: Float[Tensor, "b n d"], positions: Positions, before: Float[Tensor, "b m w"] | None
    ) -> Features:
        """Numbers for every token from what enters the layer's attention; once per layer, cached beside keys and
        values. `before` holds those of the tokens that a cache has seen earlier. `rotate`, `qk_scores` and `score_mod`
        get them back."""
        return x[..., :0]

    def rotate(
        self, x: Float[Tensor, "b h n e"], state: Prepared, side: Side, features: Features | None = None
    ) -> Float[Tensor, "b h n e2"]:
        """Turn or scale queries ("q") or keys ("k"), after QK-norm. The features are those of the tokens in x."""
        return x

    def relative_bias(self, gaps: Num[Tensor, " g"]) -> Float[Tensor, "#h g"] | None:
        """A score term that depends on the gap (query minus key position) alone: one number per head and gap.

        Dense biases, query blocks, strided views and FlexAttention all follow from this one definition.
        """
        return None

    def relative_only(self) -> bool:
        """Whether `relative_bias` is the whole positional score term."""
        return type(self).bias is Encoding.bias

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b #h q k"] | None:
        """A score term that depends on positions alone, or None."""
        if type(self).relative_bias is Encoding.relative_bias:
            return None
        if context.consecutive:
            line = self.relative_bias(relative_line(context))
            assert line is not None
            return line.unfold(-1, context.k.length, 1).flip(1).unsqueeze(0)
        gap = context.relative_positions()
        flat = self.relative_bias(gap.reshape(-1))
        assert flat is not None
        return flat.view(-1, *gap.shape).transpose(0, 1)

    def qk_scores(
        self,
        q: Float[Tensor, "b h q e"],
        k: Float[Tensor, "b h k e"],
        context: AttentionContext,
        features: Float[Tensor, "b k w"] | None = None,
    ) -> Float[Tensor, "b h q k"]:
        """Scaled, unmasked scores of queries against keys, both as `rotate` left them."""
        return torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(2, 3))

    def score_mod(
        self,
        scores: Float[Tensor, "b h q k"],
        q: Float[Tensor, "b h q e"],
        k: Float[Tensor, "b h k e"],
        context: AttentionContext,
        features: Float[Tensor, "b k w"] | None = None,
    ) -> Float[Tensor, "b h q k"]:
        """Change scaled, unmasked scores by content. The features are those of all keys, queries among them."""
        return scores

    def weighted_values(
        self, weights: Float[Tensor, "b h q k"], v: Float[Tensor, "b h k e"], context: AttentionContext
    ) -> Float[Tensor, "b h q e"]:
        """Gather values by the attention weights."""
        return weights @ v

    def placed(self, context: AttentionContext) -> AttentionContext:
        """The pair under this encoding's own positions."""
        if type(self).relabel is Encoding.relabel:
            return context
        k = context.k.with_values(self.relabel(context.k.values))
        q = k if context.q is context.k else context.q.with_values(self.relabel(context.q.values))
        return replace(context, q=q, k=k)

    def parts(self) -> tuple["Encoding", ...]:
        """The encodings this one is made of."""
        return (self,)


def relative_line(context: AttentionContext) -> Num[Tensor, " g"]:
    """The gaps of a consecutive pair, from the last query against the first key down to the first against the last.

    Read in windows of k numbers, one step further for each earlier query, this one line is the whole gap matrix.
    """
    last = context.start + context.q.length - 1
    return torch.arange(last, last - context.q.length - context.k.length + 1, -1, device=context.k.values.device)
