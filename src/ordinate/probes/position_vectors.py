"""Of the vectors PE(p) that an encoding adds: size, uniqueness, smoothness, similarity, shifts, and linear readers."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.core.seeds import generator
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_effects import Setting
from ordinate.probes.readers import pair_features, recovered

SHIFTS = (1, 8)  # positions
PAIRS = 4096  # of positions, for the reader of relative positions
HELD_OUT = 4  # one position in so many


@dataclass(frozen=True)
class ValueRange:
    """Values of single channels, and the mean norm over that of the trained positions."""

    lowest: float
    highest: float
    size: float


@dataclass(frozen=True)
class VectorProbe:
    """Distances and steps are in units of the mean norm over the trained positions.

    norm_ratio: mean ||PE(p)|| over the norm of a token embedding; by_definition: without matching the two.
    smallest_distance: min over p < r of ||PE(p) - PE(r)||, at the positions `nearest`; 0 means that two positions are
    one. steps: ||PE(p+1) - PE(p)|| by p. similarity: mean cosine of PE(p) and PE(p+r) by r.
    shift_residual: min over M of ||PE(p) M - PE(p+r)||_F / ||PE(p+r)||_F by r, over more than 2d positions in float64;
    empty where there are fewer, because any d vectors can be mapped to any others.
    position_read, distance_read: R^2 of linear readers (see `readers`) of p from PE(p), and of p - r from both and
    their product, on positions and pairs that they were not fitted to.
    """

    norm_ratio: float
    by_definition: float
    trained: ValueRange
    past: ValueRange | None  # none: there are no positions past the trained ones
    smallest_distance: float
    nearest: tuple[int, int]
    steps: tuple[float, ...]
    similarity: tuple[float, ...]
    shift_residual: dict[int, float]
    position_read: float
    distance_read: float

    @property
    def largest_step(self) -> tuple[int, float]:
        """The position before the largest step, and that step over the median of all that are steps."""
        steps = torch.tensor(self.steps)
        at, moving = int(steps.argmax()), steps[steps > 1e-6]
        return at, float(steps[at] / moving.median()) if len(moving) else 1.0


def vectors(encoding: Encoding, count: int) -> Float[Tensor, "n d"]:
    """PE of the first positions, in float64 where the encoding computes from real positions."""
    dtype = torch.float64 if encoding.real_positions else torch.long
    return effects.added(encoding, effects.along(encoding, 0, count, dtype=dtype)[0], torch.float64).double()


def probe_vectors(encoding: Encoding, defined: Encoding, setting: Setting) -> VectorProbe | None:
    """None if nothing is added. `defined` is the same encoding with the values of its definition."""
    length, token_norm = setting.length, (setting.token_size or 1.0) * encoding.shape.dim**0.5
    values = vectors(encoding, setting.reach)
    if not values.any():
        return None
    size = values[:length].norm(dim=-1).mean()
    unit = values / size
    at = torch.arange(len(values))
    apart = torch.cdist(unit, unit, compute_mode="donot_use_mm_for_euclid_dist").masked_fill(
        at[:, None] >= at, torch.inf
    )
    first, second = divmod(int(apart.argmin()), len(values))
    return VectorProbe(
        norm_ratio=float(size) / token_norm,
        by_definition=float(vectors(defined, length).norm(dim=-1).mean()) / token_norm,
        trained=_range(values[:length], size),
        past=_range(values[length:], size) if len(values) > length else None,
        smallest_distance=float(apart.min()),
        nearest=(first, second),
        steps=tuple((unit[1:] - unit[:-1]).norm(dim=-1).tolist()),
        similarity=similarity_by_distance(values),
        shift_residual=shift_residuals(encoding),
        position_read=position_read(values),
        distance_read=distance_read(values, setting.seed),
    )


def _range(values: Float[Tensor, "n d"], size: Tensor) -> ValueRange:
    return ValueRange(float(values.min()), float(values.max()), float(values.norm(dim=-1).mean() / size))


def similarity_by_distance(values: Float[Tensor, "n d"]) -> tuple[float, ...]:
    """The mean over p of cos(PE(p), PE(p + r)), for every distance r."""
    unit = torch.nn.functional.normalize(values, dim=-1)
    cosines = unit @ unit.T
    return tuple(float(cosines.diagonal(distance).mean()) for distance in range(len(values)))


def shift_residuals(encoding: Encoding) -> dict[int, float]:
    """By shift; empty if the encoding has too few positions for a linear map to fail."""
    count, longest = 2 * encoding.shape.dim + 1, max(SHIFTS)
    if count + longest > encoding.max_positions:
        return {}
    values = vectors(encoding, count + longest)
    return {shift: shift_residual(values[:count], values[shift : shift + count]) for shift in SHIFTS}


def shift_residual(before: Float[Tensor, "n d"], after: Float[Tensor, "n d"]) -> float:
    """||before M - after||_F / ||after||_F for the best matrix M. 0: one map shifts every position."""
    fitted = before @ torch.linalg.lstsq(before, after, driver="gelsd").solution
    return float((fitted - after).norm() / after.norm())


def position_read(values: Float[Tensor, "n d"]) -> float:
    """R^2 of a linear reader of p from PE(p)."""
    at = torch.arange(len(values))
    return recovered(values, at.double(), _held_out(at))


def distance_read(values: Float[Tensor, "n d"], seed: int) -> float:
    """R^2 of a linear reader of p - r from PE(p), PE(r) and their product, for random pairs. It is tested on pairs of
    positions that it was never fitted to."""
    one, other = torch.randint(len(values), (2, PAIRS), generator=generator(seed, "probe", "pairs"))
    tested = _held_out(one)
    alike = tested == _held_out(other)
    one, other, tested = one[alike], other[alike], tested[alike]
    return recovered(pair_features(values[one], values[other]), (one - other).double(), tested)


def _held_out(positions: Tensor) -> Tensor:
    return positions % HELD_OUT == HELD_OUT // 2
