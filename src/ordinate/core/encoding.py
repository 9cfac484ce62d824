"""The protocol that every positional encoding follows.

Letters: b batch, n tokens, q queries, k keys, h heads, e head width, d model width, g relative positions.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.errors import AxesError, CausalError, InputError
from ordinate.core.parameters import LARGEST_NUMBER, LARGEST_WHOLE
from ordinate.core.positions import LARGEST_POSITION, AttentionContext, Positions

Embeddings = Float[Tensor, "b n d"]
Heads = Float[Tensor, "b h n e"]  # queries or keys
Queries = Float[Tensor, "b h q e"]
Keys = Float[Tensor, "b h k e"]
Scores = Float[Tensor, "b h q k"]
Features = Float[Tensor, "b _ w"]  # per token: of the current pass, of all keys, or of the cached tokens
Prepared = Any  # whatever `prepare` hands to `rotate`: angles, tables, or nothing
Side = Literal["q", "k"]
Family = Literal["none", "added", "rotation", "bias", "content", "combined", "other"]
Extrapolation = Literal["computes", "extends", "clips", "untrained", "refuses"]
ExtraInput = Literal["segments", "tokens", "neighbors", "relation"]

# The families that an encoding may declare: without one it is "other", and several encodings together are "combined".
FAMILIES: dict[Family, str] = {
    "none": "no positional information",
    "added": "a vector is added to each token embedding",
    "rotation": "queries and keys are rotated or scaled by position",
    "bias": "a number that depends on positions alone is added to each score",
    "content": "scores or values depend on position and content together",
}

EXTRAPOLATION: dict[Extrapolation, str] = {
    "computes": "a formula defined at every position",
    "extends": "stretches the learned range over the longer sequence",
    "clips": "treats larger distances or positions as the largest known one",
    "untrained": "uses parameters that training never updated",
    "refuses": "raises an error",
}


@dataclass(frozen=True)
class Shape:
    """The model that an encoding is created for. `length` is the trained length."""

    dim: int
    heads: int
    length: int
    layers: int = 1
    causal: bool = True
    axes: int = 1
    head_dim: int = 0  # 0: dim / heads
    token_size: float | None = None  # RMS of the token embeddings at initialization; None: unknown

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
        """The initial RMS of vectors added to token embeddings: `size` times that of the embeddings.

        None keeps the values of the definition: without a `size`, or if the RMS of the embeddings is unknown.
        """
        if size is None or self.token_size is None:
            return None
        return size * self.token_size * (math.sqrt(self.dim) if scale_tokens else 1.0)


@dataclass(frozen=True)
class Paper:
    """The paper that introduced an encoding."""

    title: str
    authors: tuple[str, ...]
    year: int
    arxiv: str = ""
    venue: str = ""

    def bibtex(self) -> str:
        """The BibTeX entry."""
        key = f"{self.authors[0].split()[-1].lower()}{self.year}{self.title.split()[0].strip(':,').lower()}"
        entries = {"title": self.title, "author": " and ".join(self.authors), "year": self.year}
        entries |= {"booktitle": self.venue, "eprint": self.arxiv, "archivePrefix": "arXiv" if self.arxiv else ""}
        lines = [f"  {name} = {{{value}}}" for name, value in entries.items() if value]
        return f"@{'inproceedings' if self.venue else 'misc'}{{{key},\n" + ",\n".join(lines) + "\n}"


class Encoding(nn.Module):
    """A positional encoding. Every hook does nothing unless a subclass overrides it.

    Subclasses take a `Shape` and keyword parameters annotated with `Annotated[type, Param(...)]`. The first paragraph
    of their docstring is shown to users.
    """

    family: ClassVar[Family] = "other"
    usual: ClassVar[bool] = False  # part of a comparison that names no encodings
    formula: ClassVar[str] = ""  # LaTeX
    paper: ClassVar[Paper | None] = None
    reads_heads: ClassVar[bool] = True  # `qk_scores` and `score_mod` use q and k, not scores alone
    widens: ClassVar[bool] = False  # `rotate` returns more channels than it receives
    parameters_given: dict[str, Any]  # the checked keyword parameters of `encodings.create`

    def __init__(
        self,
        shape: Shape,
        *,
        extrapolation: Extrapolation = "computes",
        shift_invariant: bool = False,
        causal_only: bool = False,
        per_layer: bool = False,
        cacheable: bool = True,
        side_dependent: bool = True,
        axes: tuple[int, ...] = (1,),
        max_positions: int = LARGEST_POSITION,
        extra_inputs: tuple[ExtraInput, ...] = (),
        real_positions: bool = False,
        feature_width: int = 0,
        gqa_needs: str = "",
        skip_contracts: dict[str, str] | None = None,
    ) -> None:
        """Traits are declared per instance, because they depend on the parameters.

        extrapolation: the behavior beyond the trained length. shift_invariant: adding a constant to all positions
        changes nothing. causal_only: undefined for bidirectional attention. per_layer: every layer has its own
        parameters. cacheable: a rotated key in the KV cache stays valid. side_dependent: `rotate` treats queries and
        keys differently; otherwise both are rotated in one call. axes: the supported numbers of position axes.
        max_positions: positions must be smaller than this. extra_inputs: inputs other than positions (`neighbors`:
        `embed` reads other tokens, so a cached step receives all tokens so far). real_positions: positions may be
        fractional and negative. feature_width: numbers per token returned by `features`. gqa_needs: `rotate` differs
        between heads, so grouped-query attention needs this setting ("per_head=false"). skip_contracts: contract
        tests that the encoding cannot pass, each with the reason.
        """
        super().__init__()
        self.name = name = type(self).__module__.rpartition(".")[2]
        if shape.axes not in axes:
            can = " or ".join(map(str, axes))
            raise AxesError(f"{name} reads positions with {can} axes, but the model's have {shape.axes}")
        if causal_only and not shape.causal:
            raise CausalError(f"{name} is defined for causal attention alone: use it with causal=True")
        self.shape, self.axes, self.real_positions, self.max_positions = shape, axes, real_positions, max_positions
        self.extrapolation: Extrapolation = extrapolation
        self.shift_invariant, self.causal_only, self.per_layer = shift_invariant, causal_only, per_layer
        self.cacheable, self.side_dependent, self.gqa_needs = cacheable, side_dependent, gqa_needs
        self.extra_inputs, self.feature_width, self.skip_contracts = extra_inputs, feature_width, skip_contracts or {}
        self.needs_scores = self.overrides("qk_scores", "score_mod", "weighted_values")
        self.has_bias = self.overrides("bias", "relative_bias")
        if (feature_width > 0) != self.overrides("features") and self.family != "combined":
            raise InputError(f"{name} has feature_width {feature_width}, which needs a features hook: define both")
        if per_layer and self.overrides("embed"):
            raise InputError(f"{name} changes embeddings, once per forward: it cannot have parameters per layer")

    def overrides(self, *hooks: str) -> bool:
        """Whether the encoding defines one of these hooks."""
        return any(getattr(type(self), hook) is not getattr(Encoding, hook) for hook in hooks)

    def check_range(self, positions: Positions, more: int = 0) -> None:
        """Refuse positions from `max_positions` on; `more`: further positions after the last. Not in compiled code."""
        if positions.first is not None:
            largest: float = positions.first + positions.length - 1
        elif positions.values.is_meta or torch.compiler.is_compiling():
            return
        else:
            largest = positions.values.max().item()
        if largest + more >= self.max_positions:
            why = " (one more than the last token, for the read-out)" if more else ""
            raise InputError(
                f"position {largest + more:g}{why} is out of range: {self.name} {self.extrapolation} from position"
                f" {self.max_positions} on (trained length {self.shape.length})"
            )

    def check_heads(self, found: int) -> None:
        """Refuse fewer key heads than query heads if `rotate` differs between heads."""
        heads = self.shape.heads
        if self.gqa_needs and found != heads:
            some = "1 key head serves" if found == 1 else f"{found} key heads serve"
            raise InputError(
                f"{self.name} rotates every head differently, but {some} {heads}: set kv_heads to heads, or set"
                f" {self.gqa_needs}"
            )

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the parameters, with all randomness from this generator."""

    # Hooks, in the order in which a model calls them.

    def relabel(self, positions: Num[Tensor, "#b n axes"]) -> Num[Tensor, "#b n axes"]:
        """Replace positions (interpolated, clipped, normalized); once per forward."""
        return positions

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        """Change token embeddings; once per forward."""
        return x

    def prepare(self, positions: Positions) -> Prepared:
        """Precompute what `rotate` needs from positions alone; once per forward, shared by the layers."""
        return None

    def features(self, x: Embeddings, positions: Positions, before: Features | None) -> Features:
        """Compute numbers for every token from the input of the layer's attention; once per layer, cached beside keys
        and values. `before` holds those of the cached tokens. `rotate`, `qk_scores` and `score_mod` receive them."""
        return x[..., :0]

    def rotate(
        self, x: Heads, state: Prepared, side: Side, features: Features | None = None
    ) -> Float[Tensor, "b h n e2"]:
        """Rotate or scale queries ("q") or keys ("k"), after QK-norm. `features` are those of the tokens in x."""
        return x

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "#h g"] | None:
        """Compute the bias that depends on relative positions (query minus key) alone, for every head.

        Dense biases, query blocks, strided views and FlexAttention all follow from this one definition.
        """
        return None

    def relative_only(self) -> bool:
        """Whether `relative_bias` is the whole bias."""
        return not self.overrides("bias")

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b #h q k"] | None:
        """Compute the bias that is added to the scores and depends on positions alone, or None."""
        if not self.overrides("relative_bias"):
            return None
        if context.consecutive:
            by_diagonal = self.relative_bias(context.diagonals())
            assert by_diagonal is not None
            return by_diagonal.unfold(-1, context.k.length, 1).flip(1).unsqueeze(0)  # see `diagonals`
        relative = context.relative_positions()
        flat = self.relative_bias(relative.reshape(-1))
        assert flat is not None
        return flat.view(-1, *relative.shape).transpose(0, 1)

    def qk_scores(self, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None) -> Scores:
        """Compute the scaled, unmasked scores of rotated queries and keys."""
        return torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(2, 3))

    def score_mod(
        self, scores: Scores, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None
    ) -> Scores:
        """Change the scaled, unmasked scores. `features` are those of all keys, including the queries'."""
        return scores

    def weighted_values(self, weights: Scores, v: Keys, context: AttentionContext) -> Queries:
        """Sum the values by the attention weights."""
        return weights @ v

    def relabel_positions(self, positions: Positions) -> Positions:
        """Apply `relabel` to the positions of some tokens."""
        return positions.with_values(self.relabel(positions.values))

    def relabel_context(self, context: AttentionContext) -> AttentionContext:
        """Apply `relabel` to the positions of queries and keys."""
        if not self.overrides("relabel"):
            return context
        k = self.relabel_positions(context.k)
        return replace(context, q=k if context.q is context.k else self.relabel_positions(context.q), k=k)

    def parts(self) -> tuple["Encoding", ...]:
        """The encodings that this one combines; itself if it is a single one."""
        return (self,)


def without_autocast(x: Tensor) -> AbstractContextManager[Any]:
    """Inside, `upcast` is not undone: autocast would round the operands of every product to bfloat16 again."""
    kind = x.device.type
    on = kind != "meta" and torch.is_autocast_enabled(kind)
    return torch.autocast(kind, enabled=False) if on else nullcontext()


def upcast(x: Tensor) -> Tensor:
    """At least float32: float64 stays, everything narrower is computed in float32 and cast last."""
    return x if x.dtype == torch.float64 else x.float()
