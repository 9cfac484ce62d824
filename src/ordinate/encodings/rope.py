"""Rotary position embedding, with its scalings for longer contexts."""

from typing import Annotated, Literal

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Shape, Side
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param, parameters
from ordinate.core.positions import Positions
from ordinate.encodings._shared import scaling as scalings
from ordinate.encodings._shared.rotation import Angles, Convention, angles, even_width, spread, turn

Scaling = Literal["none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope", "proportional"]


class Rope(Encoding):
    """Rotates pairs of query and key channels by an angle proportional to position, at frequencies from high to low.
    The score of two tokens then depends on their content and relative position, not on absolute positions.

    With scaling=dynamic and scaling=longrope all angles change once the current length exceeds the original one:
    earlier results are then no longer valid, and packed documents share the angles of the longest of them."""

    family = "rotation"
    usual = True
    formula = r"q_i^\top R_{i-j}\, k_j,\quad R_r \text{ turns pair } k \text{ by } r\,b^{-2k/d}"
    paper = Paper(
        "RoFormer: Enhanced Transformer with Rotary Position Embedding",
        ("Jianlin Su", "Yu Lu", "Shengfeng Pan", "Ahmed Murtadha", "Bo Wen", "Yunfeng Liu"),
        2021,
        "2104.09864",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        base: Annotated[float, Param("the slowest pair rotates once in about 2 pi times this", low=1.01)] = 10_000.0,
        fraction: Annotated[float, Param("share of the head's channels that are rotated", low=0.0, high=1.0)] = 1.0,
        pairs: Annotated[
            Convention, Param("channel k with k + d/2 (transformers, NeoX), or 2k with 2k + 1 (the paper, GPT-J)")
        ] = "halves",
        scaling: Annotated[Scaling, Param("how angles change for contexts past the trained length")] = "none",
        factor: Annotated[float, Param("how many times longer the context becomes; for every scaling", low=1.0)] = 1.0,
        original: Annotated[int | None, Param("length before stretching; none: the trained length", low=2)] = None,
        beta_fast: Annotated[
            float, Param("yarn: rotations within the original length from which a pair is kept", low=1e-3)
        ] = 32.0,
        beta_slow: Annotated[
            float, Param("yarn: rotations below which a pair is interpolated in full", low=1e-3)
        ] = 1.0,
        truncate: Annotated[bool, Param("yarn: round the ramp's ends to whole pairs")] = True,
        mscale: Annotated[float | None, Param("yarn: DeepSeek's numerator of the attention factor")] = None,
        mscale_all_dim: Annotated[float | None, Param("yarn: DeepSeek's denominator of the attention factor")] = None,
        attention_factor: Annotated[
            float | None, Param("yarn, longrope: on cos and sin; none: from the factor")
        ] = None,
        low: Annotated[float, Param("llama3: rotations up to which a pair is divided by the factor")] = 1.0,
        high: Annotated[float, Param("llama3: rotations from which a pair is kept")] = 4.0,
        short: Annotated[
            tuple[float, ...] | None, Param("longrope: divisors up to the original length", low=1e-3)
        ] = None,
        long: Annotated[
            tuple[float, ...] | None, Param("longrope: divisors past the original length", low=1e-3)
        ] = None,
    ) -> None:
        given = dict(
            factor=factor, original=original, beta_fast=beta_fast, beta_slow=beta_slow, truncate=truncate,
            mscale=mscale, mscale_all_dim=mscale_all_dim, attention_factor=attention_factor, low=low, high=high,
            short=short, long=long,
        )  # fmt: skip
        scalings.refuse_idle(scaling, given, {name: p.default for name, p in parameters(type(self)).items()})
        kind = scalings.KINDS[scaling]
        reason = f"{scaling} rotates every key by angles that depend on the current length"
        super().__init__(
            shape,
            extrapolation="extends" if kind.extends else "computes",
            shift_invariant=not kind.changing,
            cacheable=not kind.changing,
            side_dependent=False,
            real_positions=True,
            skip_contracts=dict.fromkeys(("cached_past", "packed_past", "prefix_past"), reason)
            if kind.changing
            else None,
        )
        width = shape.head_dim if scaling == "proportional" else int(shape.head_dim * fraction)
        if width % 2 and width < shape.head_dim:
            raise InputError(
                f"rope rotates pairs, but fraction {fraction:g} of head width {shape.head_dim} leaves {width} channels"
            )
        if width:
            even_width("rope", width, shape.dim, shape.heads)
        given |= dict(width=width, base=base, fraction=fraction, original=original or shape.length)
        self.width, self.pairs = width, pairs
        self.scaling = scalings.make(scaling, given)

    def theta(self, positions: Positions) -> scalings.Scaled:
        """Frequency of every pair, and the factor on cos and sin."""
        return self.scaling(positions.values)

    def prepare(self, positions: Positions) -> Angles | None:
        if self.width == 0:
            return None
        theta, factor = self.theta(positions)
        theta = theta.to(positions.values.device)
        if theta.dim() == 2:  # one set of frequencies per sequence
            theta = theta.unsqueeze(1)
        return spread(angles(theta, positions.values[..., 0]).unsqueeze(1), self.pairs, factor)

    def rotate(self, x: Heads, state: Angles | None, side: Side, features: Features | None = None) -> Heads:
        return x if state is None else turn(x, state, self.pairs)
