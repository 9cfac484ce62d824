"""Rotation of channel pairs by angles: the mathematics of every rotary encoding."""

from typing import Any, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ordinate.core.encoding import Heads, Keys, Queries, Scores, upcast
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext, Positions

Convention = Literal["halves", "interleaved"]
Angles = tuple[Float[Tensor, "#b #h n w"], Float[Tensor, "#b #h n w"]]


def even_width(owner: str, width: int, dim: int, heads: int, multiple: int = 2) -> int:
    """A head width that splits into pairs of channels."""
    if width % multiple:
        word = "an even head width" if multiple == 2 else f"a head width divisible by {multiple}"
        raise InputError(
            f"{owner} needs {word}, got {width} (dim {dim} / heads {heads}): choose dim divisible by {multiple}*heads"
        )
    return width


def frequencies(width: int, base: float | Tensor, device: torch.device | None = None) -> Float[Tensor, "*b pairs"]:
    """theta_k = base^(-2k/width) for the width/2 pairs; in float32 as the field's pretrained models have them."""
    exponent = torch.arange(0, width, 2, dtype=torch.float32, device=device) / width
    return 1.0 / (base**exponent)


def angles(theta: Float[Tensor, "*b pairs"], positions: Num[Tensor, "rows n"]) -> Float[Tensor, "rows n pairs"]:
    """Angle of every pair at every position."""
    return upcast(positions.unsqueeze(-1)) * theta


def spread(angle: Float[Tensor, "... n pairs"], convention: Convention, scale: float | Tensor = 1.0) -> Angles:
    """Cosine and signed sine for every channel, laid out so that `turn` is x * cos + partner(x) * sin."""
    return lay_out(angle.cos() * scale, angle.sin() * scale, convention)


def lay_out(
    cos: Float[Tensor, "*shape n pairs"], sin: Float[Tensor, "*shape n pairs"], convention: Convention
) -> Angles:
    """A cosine and a sine per pair, for every channel."""
    if convention == "halves":
        return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)
    return cos.repeat_interleave(2, dim=-1), torch.stack((-sin, sin), dim=-1).flatten(-2)


def turn(x: Heads, state: Angles, convention: Convention) -> Heads:
    """Rotate the first channels of x, as many as the angles cover; computed in float32, cast last."""
    cos, sin = state
    width = cos.shape[-1]
    head, rest = (x, None) if width == x.shape[-1] else (x[..., :width], x[..., width:])
    if cos.requires_grad or not x.requires_grad:  # learned frequencies need autograd's view, inference needs none
        rotated = torch.addcmul(head * cos, _partner(head, convention), sin)
    else:
        rotated = _Turn.apply(head, cos, sin, convention)  # type: ignore[no-untyped-call]
    rotated = rotated.to(x.dtype)
    return rotated if rest is None else torch.cat((rotated, rest), dim=-1)


def windowed_scores(
    q: Queries, k: Keys, context: AttentionContext, far: tuple[Tensor, Tensor], *,
    window: int, edge: float, base: float, convention: Convention,
) -> Scores:  # fmt: skip
    """Scores of RoPE within a window; past it, positions are those of `far` (of queries, of keys), and `edge` is added
    to every distance."""
    theta, relative = frequencies(q.shape[-1], base, q.device), context.relative_positions()[:, None]
    scaled = q * q.shape[-1] ** -0.5

    def product(i: Num[Tensor, "#b q"], j: Num[Tensor, "#b k"]) -> Tensor:
        state_q, state_k = (spread(angles(theta, at).unsqueeze(1), convention) for at in (i, j))
        return turn(scaled, state_q, convention) @ turn(k, state_k, convention).mT

    near = product(context.q.values[..., 0], context.k.values[..., 0])
    scores = torch.where(relative < window, near, product(far[0] + edge, far[1]))
    if context.causal and _rising(context.k):  # no key is ahead of its query
        return scores
    return torch.where(relative > -window, scores, product(far[0] - edge, far[1]))


def _rising(positions: Positions) -> bool:
    """Whether no token stands before an earlier one; False where values cannot be read."""
    if positions.first is not None:
        return True
    if positions.values.is_meta or torch.compiler.is_compiling():
        return False
    return not bool((positions.values.diff(dim=1) < 0).any())


def _partner(x: Tensor, convention: Convention) -> Tensor:
    if convention == "halves":
        half = x.shape[-1] // 2
        return torch.cat((x[..., half:], x[..., :half]), dim=-1)
    swapped: Tensor = x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return swapped


class _Turn(torch.autograd.Function):
    """A rotation whose gradient is the rotation back: autograd alone would keep and add twice as many tensors."""

    @staticmethod
    def forward(x: Tensor, cos: Tensor, sin: Tensor, convention: Convention) -> Tensor:
        return torch.addcmul(x * cos, _partner(x, convention), sin)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, cos, sin, ctx.convention = inputs
        ctx.save_for_backward(cos, sin)
        ctx.dtype = x.dtype

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        cos, sin = ctx.saved_tensors
        # The transpose of x -> x*cos + P x*sin is g -> g*cos + P(g*sin), and P(sin) = -sin for a rotation.
        back: Tensor = _Turn.apply(grad, cos, -sin, ctx.convention)  # type: ignore[no-untyped-call]
        return back.to(ctx.dtype), None, None, None
