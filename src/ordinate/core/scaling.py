"""Frequencies of RoPE for contexts longer than the trained one. Names and formulas follow the papers cited below.

Each function takes the rotated width, the base and its own settings, and gives (frequencies, factor on cos and sin).
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.rotation import frequencies

Scaled = tuple[Float[Tensor, "*b pairs"], float]


def linear(width: int, base: float, factor: float) -> Scaled:
    """Position interpolation (Chen et al. 2023): positions shrink by the factor."""
    return frequencies(width, base) / factor, 1.0


def ntk(width: int, base: float, factor: float) -> Scaled:
    """NTK-aware (bloc97 2023): a larger base, so that the slowest pair is interpolated and the fastest kept."""
    return frequencies(width, base * factor ** (width / (width - 2))), 1.0


def dynamic(width: int, base: float, factor: float, original: int, current: Float[Tensor, "b 1"]) -> Scaled:
    """NTK-aware with a base that grows with the current length, and is unscaled up to the original one."""
    growth = factor * current.clamp(min=original) / original - (factor - 1)
    return frequencies(width, base * growth ** (width / (width - 2)), current.device), 1.0


def yarn(
    width: int,
    base: float,
    factor: float,
    original: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    attention_factor: float | None = None,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
) -> Scaled:
    """YaRN (Peng et al. 2023): fast pairs kept, slow pairs interpolated, a ramp between; attention sharpened."""

    def pair_with(rotations: float) -> float:
        return width * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair_with(beta_fast), pair_with(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001  # the reference's way around a division by zero
    ramp = ((torch.arange(width // 2, dtype=torch.float32) - low) / (high - low)).clamp(0, 1)
    theta = frequencies(width, base)

    def sharpening(scale: float = 1.0) -> float:
        return 0.1 * scale * math.log(factor) + 1.0 if factor > 1 else 1.0

    if attention_factor is None:
        both = bool(mscale) and bool(mscale_all_dim)  # DeepSeek's form is a ratio of two
        attention_factor = sharpening(mscale or 1.0) / sharpening(mscale_all_dim or 1.0) if both else sharpening()
    return theta / factor * ramp + theta * (1 - ramp), attention_factor


def llama3(width: int, base: float, factor: float, original: int, low: float = 1.0, high: float = 4.0) -> Scaled:
    """Llama 3: by wavelength, slow pairs divided by the factor, fast ones kept, smooth between."""
    theta = frequencies(width, base)
    kept = ((original * theta / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
    return theta / factor * (1 - kept) + theta * kept, 1.0


def longrope(
    width: int,
    base: float,
    factor: float,
    original: int,
    short: Sequence[float],
    long: Sequence[float],
    current: Float[Tensor, "b 1"],
    attention_factor: float | None = None,
) -> Scaled:
    """LongRoPE (Ding et al. 2024): a divisor for every pair, one list up to the original length, another past it."""
    divisors = torch.tensor([short, long], dtype=torch.float32, device=current.device)
    chosen = torch.where(current > original, divisors[1], divisors[0])
    if attention_factor is None:
        attention_factor = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return frequencies(width, base, current.device) / chosen, attention_factor


def proportional(width: int, base: float, factor: float, fraction: float) -> Scaled:
    """p-RoPE (Barbero et al. 2024): the fastest pairs turn, the rest do not; exponents over the whole width."""
    theta = frequencies(width, base) / factor
    kept = int(fraction * width // 2)
    return torch.where(torch.arange(width // 2) < kept, theta, 0.0), 1.0
