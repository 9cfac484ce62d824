"""Keys and values of the tokens seen so far, in memory set aside beforehand."""

import torch
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.place import Place


class Cache:
    """Room for `capacity` tokens of `batch` sequences in every layer."""

    def __init__(
        self, *, layers: int, batch: int, heads: int, capacity: int, width: int, axes: int, dtype: torch.dtype,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.keys = torch.empty(layers, batch, heads, capacity, width, dtype=dtype, device=device)
        self.values = torch.empty_like(self.keys)
        self.length, self.capacity = 0, capacity
        self.range = Place.range(capacity, device=device) if axes == 1 else None
        self.place: Place | None = None
        self.keep: Tensor | None = None

    def check(self, more: int) -> None:
        """Refuse more tokens than there is room for."""
        if self.length + more > self.capacity:
            raise InputError(
                f"the cache has room for {self.capacity} tokens and holds {self.length}, cannot add {more}"
            )

    def extend(self, place: Place, keep: Tensor | None) -> tuple[Place, Tensor | None]:
        """The places, and the padding mask, of all tokens once these are added."""
        total = self.length + place.length
        if keep is not None or self.keep is not None:
            old = self.keep if self.keep is not None else torch.ones(1, self.length, dtype=torch.bool)
            new = keep if keep is not None else torch.ones(1, place.length, dtype=torch.bool, device=old.device)
            rows = max(len(old), len(new))
            self.keep = torch.cat((old.to(new.device).expand(rows, -1), new.expand(rows, -1)), dim=1)
        if place.consecutive and (self.place is None or self.place.consecutive) and self.range is not None:
            self.place = self.range.rows(0, total)  # consecutive places in a cache start at 0: the model checks
        else:
            self.place = place if self.place is None else _join(self.place, place)
        return self.place, self.keep

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put the keys and values of the new tokens behind the old ones; all of them."""
        total = self.length + k.shape[2]
        self.keys[layer, :, :, self.length : total] = k
        self.values[layer, :, :, self.length : total] = v
        return self.keys[layer, :, :, :total], self.values[layer, :, :, :total]


def _join(old: Place, new: Place) -> Place:
    rows = max(len(old.positions), len(new.positions))
    positions = torch.cat((old.positions.expand(rows, -1, -1), new.positions.expand(rows, -1, -1)), dim=1)
    return Place(positions)
