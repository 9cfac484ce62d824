"""Where tokens stand (`Place`) and who may see whom (`Pair`): all that an encoding is told about a sequence."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from ordinate.core.errors import InputError

LARGEST_POSITION = 2**24  # float32 holds every whole number below this; past it, neighbours share one angle


@dataclass(frozen=True)
class Place:
    """Positions, and optionally segments and documents, of the tokens of a batch. A shared row has b = 1.

    `first` promises that the positions are shared by the batch, lie on one axis, begin there and rise by exactly one:
    a bias by distance is then the same along every diagonal.
    """

    positions: Num[Tensor, "#b n axes"]
    segments: Int[Tensor, "#b n"] | None = None
    documents: Int[Tensor, "#b n"] | None = None
    first: int | None = None

    def __post_init__(self) -> None:
        if self.positions.dim() != 3:
            raise InputError(f"a Place holds positions of shape [b, n, axes], got {tuple(self.positions.shape)}")

    @staticmethod
    def range(length: int, *, start: int = 0, device: torch.device | str | None = None) -> "Place":
        """A text of `length` tokens at `start`, `start + 1`, and so on."""
        positions = torch.arange(start, start + length, device=device)
        return Place(positions.view(1, length, 1), first=start)

    @property
    def length(self) -> int:
        return self.positions.shape[1]

    @property
    def axes(self) -> int:
        return self.positions.shape[2]

    def rows(self, start: int, stop: int) -> "Place":
        """The tokens `start` to `stop` alone."""
        part = slice(start, stop)
        return Place(
            self.positions[:, part],
            None if self.segments is None else self.segments[:, part],
            None if self.documents is None else self.documents[:, part],
            None if self.first is None else self.first + start,
        )

    def relabelled(self, positions: Num[Tensor, "#b n axes"]) -> "Place":
        """The same tokens under other positions."""
        return self if positions is self.positions else replace(self, positions=positions, first=None)


@dataclass(frozen=True)
class Pair:
    """Queries against keys. Query number t is token number `start + t` among the keys; by default the last ones."""

    q: Place
    k: Place
    causal: bool = True
    keep: Bool[Tensor, "#b k"] | None = None  # False marks padding, which nobody sees
    separate: bool = False  # documents do not see each other
    start: int = -1

    def __post_init__(self) -> None:
        if self.start < 0:
            object.__setattr__(self, "start", self.k.length - self.q.length)
        if self.start < 0 or self.start + self.q.length > self.k.length:
            raise InputError(
                f"{self.q.length} queries do not fit into {self.k.length} keys: queries are among the keys"
            )

    @staticmethod
    def of(place: Place, *, causal: bool = True) -> "Pair":
        """A sequence against itself."""
        return Pair(place, place, causal=causal)

    @property
    def consecutive(self) -> bool:
        """Whether gap and visibility depend on the distance of two tokens alone."""
        if self.q.first is None or self.k.first is None or self.keep is not None or self.separate:
            return False
        return self.q.first - self.k.first == self.start

    @property
    def all_visible(self) -> bool:
        """Whether every query sees every key."""
        last_only = self.q.length == 1 and self.start == self.k.length - 1
        return self.keep is None and not self.separate and (not self.causal or last_only)

    def gap(self) -> Num[Tensor, "#b q k"]:
        """Query position minus key position, on the first axis."""
        return self.q.positions[:, :, None, 0] - self.k.positions[:, None, :, 0]

    @property
    def visible(self) -> Bool[Tensor, "#b 1 q k"] | None:
        """Which key each query may see; None when it sees all. Every token sees itself, so no row is empty."""
        device = self.k.positions.device
        i = torch.arange(self.start, self.start + self.q.length, device=device)[:, None]
        j = torch.arange(self.k.length, device=device)[None, :]
        seen = (j <= i)[None] if self.causal else None
        if self.separate and self.q.documents is not None and self.k.documents is not None:
            same = self.q.documents[:, :, None] == self.k.documents[:, None, :]
            seen = same if seen is None else seen & same
        if self.keep is not None:
            kept = self.keep[:, None, :] | (i == j)
            seen = kept if seen is None else seen & kept
        return None if seen is None else seen[:, None]

    def mask(self, bias: Float[Tensor, "#b #h q k"] | None = None) -> Tensor | None:
        """A bias with minus infinity wherever a key is not visible: the `attn_mask` of fused attention."""
        visible = self.visible
        if bias is None or visible is None:
            return visible if bias is None else bias
        return bias.masked_fill(~visible, float("-inf"))

    def rows(self, start: int, stop: int) -> "Pair":
        """The queries `start` to `stop` against the keys that any of them can see."""
        end = self.start + stop if self.causal else self.k.length
        keep = None if self.keep is None else self.keep[:, :end]
        return Pair(self.q.rows(start, stop), self.k.rows(0, end), self.causal, keep, self.separate, self.start + start)


def check_positions(
    positions: Tensor, *, batch: int, length: int, axes: int, values: bool = True
) -> Num[Tensor, "#b n axes"]:
    """Positions as given by a caller, checked and brought to [#b, n, axes]; `values` says whether they can be read."""
    if not isinstance(positions, Tensor):
        raise InputError(f"positions must be a tensor of whole numbers, got {type(positions).__name__}")
    given = tuple(positions.shape)
    if axes == 1 and positions.dim() == 1:
        positions = positions.view(1, -1, 1)
    elif axes == 1 and positions.dim() == 2 and positions.shape[1] == length:
        positions = positions.unsqueeze(-1)
    elif positions.dim() == 2:
        positions = positions.unsqueeze(0)
    if positions.dim() != 3 or positions.shape[1] != length or positions.shape[0] not in (1, batch):
        raise InputError(
            f"positions have shape {given}, but {batch} sequences of {length} tokens need"
            f" [{length}, {axes}] or [{batch}, {length}, {axes}]"
        )
    if positions.shape[2] != axes:
        raise InputError(
            f"positions have {positions.shape[2]} axes, but the model reads {axes}: set axes in its configuration"
        )
    if positions.is_floating_point():
        problem = "NaN" if values and positions.isnan().any() else f"{positions.dtype} values"
        raise InputError(f"positions must be whole numbers (int64), got {problem}: pass positions.long()")
    if positions.dtype not in (torch.int64, torch.int32, torch.int16):
        raise InputError(f"positions must be whole numbers (int64), got {positions.dtype}")
    if not values:
        return positions.long()
    smallest, largest = (int(v) for v in positions.aminmax())
    if smallest < 0:
        raise InputError(f"positions must not be negative, found {smallest}")
    if largest >= LARGEST_POSITION:
        raise InputError(
            f"positions must stay below 2**24 = {LARGEST_POSITION}, where float32 angles end, found {largest}"
        )
    return positions.long()
