"""Frequencies of RoPE for contexts longer than the trained one. Names and formulas follow the papers cited below.

A scaling holds the parameters that it reads, and no others; it refuses values that it cannot work with, and called
with positions it gives (frequencies, factor on cos and sin).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ordinate.core.encoding import upcast
from ordinate.core.errors import InputError
from ordinate.encodings._shared.rotation import frequencies

PositionValues = Num[Tensor, "b n 1"]
Scaled = tuple[Float[Tensor, "*b pairs"], float]


@dataclass(frozen=True)
class Unscaled:
    """Plain RoPE, for `width` rotated channels."""

    width: int
    base: float

    extends: ClassVar[bool] = False  # made for contexts past the trained length
    changing: ClassVar[bool] = False  # the angles of all tokens depend on the current length

    def __call__(self, positions: PositionValues) -> Scaled:
        return frequencies(self.width, self.base), 1.0


@dataclass(frozen=True)
class Extending(Unscaled):
    """A context `factor` times longer than the trained one."""

    factor: float

    extends: ClassVar[bool] = True


@dataclass(frozen=True)
class Linear(Extending):
    """Position interpolation (Chen et al. 2023): positions shrink by the factor."""

    def __call__(self, positions: PositionValues) -> Scaled:
        return frequencies(self.width, self.base) / self.factor, 1.0


@dataclass(frozen=True)
class Ntk(Extending):
    """NTK-aware (bloc97 2023): a larger base, so that the slowest pair is interpolated and the fastest kept."""

    def __post_init__(self) -> None:
        check_channels("ntk", self.width)

    def __call__(self, positions: PositionValues) -> Scaled:
        return frequencies(self.width, self.base * self.factor ** (self.width / (self.width - 2))), 1.0


@dataclass(frozen=True)
class Dynamic(Extending):
    """NTK-aware with a base that grows with the current length, and is unscaled up to the original one."""

    original: int

    changing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_channels("dynamic", self.width)

    def __call__(self, positions: PositionValues) -> Scaled:
        current = lengths(positions)
        growth = self.factor * current.clamp(min=self.original) / self.original - (self.factor - 1)
        return frequencies(self.width, self.base * growth ** (self.width / (self.width - 2)), current.device), 1.0


@dataclass(frozen=True)
class Yarn(Extending):
    """YaRN (Peng et al. 2023): fast pairs kept, slow pairs interpolated, a ramp between; attention sharpened."""

    original: int
    beta_fast: float
    beta_slow: float
    truncate: bool
    mscale: float | None
    mscale_all_dim: float | None
    attention_factor: float | None

    def __post_init__(self) -> None:
        check_original("yarn", self.original)
        if (self.mscale is None) != (self.mscale_all_dim is None):
            raise InputError("rope takes mscale and mscale_all_dim together, or neither")

    def __call__(self, positions: PositionValues) -> Scaled:
        low, high = self._pair_with(self.beta_fast), self._pair_with(self.beta_slow)
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, self.width - 1)
        if low == high:
            high += 0.001  # the reference's way around a division by zero
        ramp = ((torch.arange(self.width // 2, dtype=torch.float32) - low) / (high - low)).clamp(0, 1)
        theta = frequencies(self.width, self.base)
        return theta / self.factor * ramp + theta * (1 - ramp), self._sharpened()

    def _pair_with(self, rotations: float) -> float:
        """The pair, a fraction in general, that rotates this often within the original length."""
        return self.width * math.log(self.original / (rotations * 2 * math.pi)) / (2 * math.log(self.base))

    def _sharpened(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:  # DeepSeek's form is a ratio of two
            return self._sharpening(self.mscale) / self._sharpening(self.mscale_all_dim)
        return self._sharpening(1.0)

    def _sharpening(self, scale: float) -> float:
        return 0.1 * scale * math.log(self.factor) + 1.0 if self.factor > 1 else 1.0


@dataclass(frozen=True)
class Llama3(Extending):
    """Llama 3: by wavelength, slow pairs divided by the factor, fast ones kept, smooth between."""

    original: int
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise InputError(f"rope with llama3 scaling needs low below high, got {self.low:g} and {self.high:g}")

    def __call__(self, positions: PositionValues) -> Scaled:
        theta = frequencies(self.width, self.base)
        kept = ((self.original * theta / (2 * math.pi) - self.low) / (self.high - self.low)).clamp(0, 1)
        return theta / self.factor * (1 - kept) + theta * kept, 1.0


@dataclass(frozen=True)
class LongRope(Extending):
    """LongRoPE (Ding et al. 2024): a divisor for every pair, one list up to the original length, another past it."""

    original: int
    short: tuple[float, ...] | None
    long: tuple[float, ...] | None
    attention_factor: float | None

    changing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_original("longrope", self.original)
        pairs = self.width // 2
        if not (self.short and self.long and len(self.short) == len(self.long) == pairs):
            raise InputError(f"rope with longrope scaling needs short and long with {pairs} divisors each")

    def __call__(self, positions: PositionValues) -> Scaled:
        current = lengths(positions)
        divisors = torch.tensor([self.short, self.long], dtype=torch.float32, device=current.device)
        chosen = torch.where(current > self.original, divisors[1], divisors[0])
        factor = self.attention_factor
        if factor is None:
            factor = math.sqrt(1 + math.log(self.factor) / math.log(self.original)) if self.factor > 1 else 1.0
        return frequencies(self.width, self.base, current.device) / chosen, factor


@dataclass(frozen=True)
class Proportional(Unscaled):
    """p-RoPE (Barbero et al. 2024): the fastest pairs are rotated, the rest are not; exponents over the whole width."""

    factor: float
    fraction: float

    def __call__(self, positions: PositionValues) -> Scaled:
        theta = frequencies(self.width, self.base) / self.factor
        kept = int(self.fraction * self.width // 2)
        return torch.where(torch.arange(self.width // 2) < kept, theta, 0.0), 1.0


KINDS: dict[str, type[Unscaled]] = {
    "none": Unscaled, "linear": Linear, "ntk": Ntk, "dynamic": Dynamic, "yarn": Yarn, "llama3": Llama3,
    "longrope": LongRope, "proportional": Proportional,
}  # fmt: skip


def lengths(positions: PositionValues) -> Float[Tensor, "b 1"]:
    """The current length of every sequence."""
    return upcast(positions.amax(dim=1)) + 1


def reads(name: str, kind: str) -> bool:
    """Whether a scaling has a parameter of this name."""
    return any(field.name == name for field in fields(KINDS[kind]))


def make(kind: str, given: Mapping[str, Any]) -> Unscaled:
    """A scaling with its own of the given parameters."""
    return KINDS[kind](**{name: value for name, value in given.items() if reads(name, kind)})


def refuse_idle(kind: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Parameters that the chosen scaling would ignore are mistakes."""
    for name, value in given.items():
        if not reads(name, kind) and value != defaults[name]:
            readers = " or ".join(other for other in KINDS if reads(name, other))
            raise InputError(f"rope has {name}={value}, which scaling={kind} does not read: choose scaling={readers}")


def check_channels(kind: str, width: int) -> None:
    """The exponent of a larger base is width / (width - 2)."""
    if width == 2:
        raise InputError(f"rope with {kind} scaling needs at least 4 rotated channels, got 2: choose a wider head")


def check_original(kind: str, original: int) -> None:
    """Its logarithm is divided by."""
    if original < 2:
        raise InputError(f"rope with {kind} scaling needs an original length of at least 2, got {original}")
