"""Keys and values of the tokens seen so far, in memory set aside beforehand."""

import torch
from jaxtyping import Int
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
        self.batch, self.capacity, self.length = batch, capacity, 0
        self.range = Place.range(capacity, device=device) if axes == 1 else None
        self.place: Place | None = None
        self.keep: Tensor | None = None
        self.explicit = False  # some positions were given by the caller

    def check(self, batch: int, more: int) -> None:
        """Refuse another batch, or more tokens than there is room for."""
        if batch != self.batch:
            raise InputError(f"the cache was made for {self.batch} sequences, got {batch}")
        if self.length + more > self.capacity:
            raise InputError(
                f"the cache has room for {self.capacity} tokens and holds {self.length}, cannot add {more}"
            )

    def kept(self) -> Int[Tensor, "b 1"] | None:
        """How many real tokens each row holds; None if there was no padding."""
        return None if self.keep is None else self.keep.sum(dim=1, keepdim=True)

    def extended(self, place: Place, keep: Tensor | None) -> tuple[Place, Tensor | None]:
        """The places, and the padding mask, of all tokens once these are added. Changes nothing yet."""
        if keep is not None or self.keep is not None:
            device = place.positions.device
            old = torch.ones(1, self.length, dtype=torch.bool, device=device) if self.keep is None else self.keep
            new = torch.ones(1, place.length, dtype=torch.bool, device=device) if keep is None else keep
            rows = max(len(old), len(new))
            keep = torch.cat((old.expand(rows, -1), new.expand(rows, -1)), dim=1)
        straight = place.first == self.length and (self.place is None or self.place.first == 0)
        if straight and self.range is not None:
            return self.range.rows(0, self.length + place.length), keep
        return place if self.place is None else _join(self.place, place), keep

    def commit(self, place: Place, keep: Tensor | None, *, explicit: bool = False) -> None:
        """Take the tokens in, once the model has seen them all the way through."""
        self.place, self.keep, self.length = place, keep, place.length
        self.explicit |= explicit

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
