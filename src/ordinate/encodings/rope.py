"""Rotary position embedding, with the ways to stretch it over longer contexts."""

from typing import Annotated, Any, Literal

from jaxtyping import Float
from torch import Tensor

from ordinate.core import scaling as scalings
from ordinate.core.encoding import Encoding, Paper, Past, Shape, Side
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param, parameters
from ordinate.core.place import Place
from ordinate.core.rotation import Angles, Convention, angles, even_width, frequencies, spread, turn

Scaling = Literal["none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope", "proportional"]

_STRETCH = ("factor", "original")
_READS: dict[str, tuple[str, ...]] = {
    "none": (),
    "linear": ("factor",),
    "ntk": ("factor",),
    "dynamic": _STRETCH,
    "yarn": (*_STRETCH, "beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim", "attention_factor"),
    "llama3": (*_STRETCH, "low", "high"),
    "longrope": (*_STRETCH, "short", "long", "attention_factor"),
    "proportional": ("factor",),
}


class Rope(Encoding):
    """Turns pairs of query and key channels by an angle that grows with position, fast pairs to slow ones. The score
    of two tokens then depends on their contents and their distance, not on where they stand."""

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
        base: Annotated[float, Param("the slowest pair turns once in about 2 pi times this", low=1.01)] = 10_000.0,
        fraction: Annotated[float, Param("share of the head's channels that turn", low=0.0, high=1.0)] = 1.0,
        pairs: Annotated[
            Convention, Param("channel k with k + d/2 (transformers, NeoX), or 2k with 2k + 1 (the paper, GPT-J)")
        ] = "halves",
        scaling: Annotated[Scaling, Param("how angles change for contexts past the trained length")] = "none",
        factor: Annotated[float, Param("how many times longer the context becomes; for every scaling", low=1.0)] = 1.0,
        original: Annotated[int | None, Param("length before stretching; none: the trained length", low=2)] = None,
        beta_fast: Annotated[
            float, Param("yarn: turns within the original length from which a pair is kept", low=1e-3)
        ] = 32.0,
        beta_slow: Annotated[float, Param("yarn: turns below which a pair is interpolated in full", low=1e-3)] = 1.0,
        truncate: Annotated[bool, Param("yarn: round the ramp's ends to whole pairs")] = True,
        mscale: Annotated[float | None, Param("yarn: DeepSeek's numerator of the attention factor")] = None,
        mscale_all_dim: Annotated[float | None, Param("yarn: DeepSeek's denominator of the attention factor")] = None,
        attention_factor: Annotated[
            float | None, Param("yarn, longrope: on cos and sin; none: from the factor")
        ] = None,
        low: Annotated[float, Param("llama3: turns up to which a pair is divided by the factor")] = 1.0,
        high: Annotated[float, Param("llama3: turns from which a pair is kept")] = 4.0,
        short: Annotated[
            tuple[float, ...] | None, Param("longrope: divisors up to the original length", low=1e-3)
        ] = None,
        long: Annotated[
            tuple[float, ...] | None, Param("longrope: divisors past the original length", low=1e-3)
        ] = None,
    ) -> None:
        changing = scaling in ("dynamic", "longrope")
        reason = f"{scaling} turns every key by angles that depend on the current length"
        past: Past = "computes" if scaling in ("none", "proportional") else "extends"
        super().__init__(
            shape,
            past=past,
            shift_invariant=not changing,
            cacheable=not changing,
            sided=False,
            exempt=dict.fromkeys(("cached_past", "packed_past", "prefix_past"), reason) if changing else None,
        )
        width = shape.head_dim if scaling == "proportional" else int(shape.head_dim * fraction)
        if width % 2 and width < shape.head_dim:
            raise InputError(
                f"rope turns pairs, but fraction {fraction:g} of head width {shape.head_dim} leaves {width} channels"
            )
        if width:
            even_width("rope", width, shape.dim, shape.heads)
        if scaling == "llama3" and low >= high:
            raise InputError(f"rope with llama3 scaling needs low below high, got {low:g} and {high:g}")
        if width == 2 and scaling in ("ntk", "dynamic"):
            raise InputError(
                f"rope with {scaling} scaling needs at least 4 turning channels, got 2: choose a wider head"
            )
        if scaling in ("yarn", "longrope") and (original or shape.length) < 2:
            raise InputError(f"rope with {scaling} scaling needs an original length of at least 2, got {shape.length}")
        if scaling == "longrope" and not (short and long and len(short) == len(long) == width // 2):
            raise InputError(f"rope with longrope scaling needs short and long with {width // 2} divisors each")
        if (mscale is None) != (mscale_all_dim is None):
            raise InputError("rope takes mscale and mscale_all_dim together, or neither")
        own = dict(
            factor=factor, original=original, beta_fast=beta_fast, beta_slow=beta_slow, truncate=truncate,
            mscale=mscale, mscale_all_dim=mscale_all_dim, attention_factor=attention_factor, low=low, high=high,
            short=short, long=long,
        )  # fmt: skip
        refuse_idle(type(self), scaling, own)
        self.width, self.base, self.fraction, self.pairs = width, base, fraction, pairs
        self.scaling, self.factor, self.original = scaling, factor, original or shape.length
        self.yarn = dict(
            beta_fast=beta_fast, beta_slow=beta_slow, truncate=truncate, attention_factor=attention_factor,
            mscale=mscale, mscale_all_dim=mscale_all_dim,
        )  # fmt: skip
        self.low, self.high, self.attention_factor = low, high, attention_factor
        self.short, self.long = short or (), long or ()

    def theta(self, place: Place) -> scalings.Scaled:
        """Frequency of every pair, and the factor on cos and sin."""
        width, base, factor = self.width, self.base, self.factor
        match self.scaling:
            case "linear":
                return scalings.linear(width, base, factor)
            case "ntk":
                return scalings.ntk(width, base, factor)
            case "dynamic":
                return scalings.dynamic(width, base, factor, self.original, self._current(place))
            case "yarn":
                return scalings.yarn(width, base, factor, self.original, **self.yarn)  # type: ignore[arg-type]
            case "llama3":
                return scalings.llama3(width, base, factor, self.original, self.low, self.high)
            case "longrope":
                return scalings.longrope(
                    width,
                    base,
                    factor,
                    self.original,
                    self.short,
                    self.long,
                    self._current(place),
                    self.attention_factor,
                )
            case "proportional":
                return scalings.proportional(width, base, factor, self.fraction)
        return frequencies(width, base), 1.0

    def prepare(self, place: Place) -> Angles | None:
        if self.width == 0:
            return None
        theta, factor = self.theta(place)
        theta = theta.to(place.positions.device)
        if theta.dim() == 2:  # one set of frequencies per sequence
            theta = theta.unsqueeze(1)
        return spread(angles(theta, place.positions[..., 0]).unsqueeze(1), self.pairs, factor)

    def rotate(self, x: Float[Tensor, "b h n e"], state: Angles | None, side: Side) -> Float[Tensor, "b h n e"]:
        return x if state is None else turn(x, state, self.pairs)

    def _current(self, place: Place) -> Float[Tensor, "b 1"]:
        return place.positions.amax(dim=1).float() + 1


def refuse_idle(cls: type[Rope], scaling: str, given: dict[str, Any]) -> None:
    """Parameters that the chosen scaling would ignore are mistakes."""
    for name, value in given.items():
        if name not in _READS[scaling] and value != parameters(cls)[name].default:
            readers = " or ".join(kind for kind, names in _READS.items() if name in names)
            raise InputError(
                f"rope has {name}={value}, which scaling={scaling} does not read: choose scaling={readers}"
            )
