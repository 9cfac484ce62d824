"""Keys and values of the tokens seen so far, in memory set aside beforehand."""

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.place import Place


class Cache:
    """Room for `capacity` tokens of `batch` sequences in every layer; set aside when a layer first writes."""

    def __init__(self, *, layers: int, batch: int, capacity: int, axes: int, device: torch.device) -> None:
        self.keys: list[Tensor | None] = [None] * layers
        self.values: list[Tensor | None] = [None] * layers
        self.features: list[Tensor | None] = [None] * layers
        self.batch, self.capacity, self.length = batch, capacity, 0
        self.range = Place.range(capacity, device=device) if axes == 1 else None
        self.place: Place | None = None
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
        keep = None if self.place is None else self.place.keep
        return None if keep is None else keep.sum(dim=1, keepdim=True)

    def extended(self, place: Place) -> Place:
        """The places of all tokens once these are added. Changes nothing yet."""
        if self.place is None:
            return place
        if self.range is not None and place.first == self.length and self.place.first == 0:
            positions, first = self.range.positions[:, : self.length + place.length], 0
        else:
            positions, first = _rows(self.place.positions, place.positions), None
        keeps: tuple[Tensor | None, ...] = (self.place.keep, place.keep)
        if any(keep is not None for keep in keeps):
            keeps = (_real(self.place), _real(place))
        return Place(
            positions,
            _both(self.place.segments, place.segments),
            first=first,
            tokens=_both(self.place.tokens, place.tokens),
            keep=_both(*keeps),
        )

    def commit(self, place: Place, *, explicit: bool = False) -> None:
        """Take the tokens in, once the model has seen them all the way through."""
        self.place, self.length = place, place.length
        self.explicit |= explicit

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put the keys and values of the new tokens behind the old ones; all of them."""
        return self._append(self.keys, layer, k, 2), self._append(self.values, layer, v, 2)

    def features_before(self, layer: int) -> Tensor | None:
        """The features of the tokens seen earlier."""
        held = self.features[layer]
        return None if held is None or self.length == 0 else held[:, : self.length]

    def write_features(self, layer: int, features: Tensor) -> Tensor:
        """Put the features of the new tokens behind the old ones; all of them."""
        return self._append(self.features, layer, features, 1)

    def _append(self, held: list[Tensor | None], layer: int, new: Tensor, axis: int) -> Tensor:
        room = held[layer]
        if room is None:
            shape = [*new.shape[:axis], self.capacity, *new.shape[axis + 1 :]]
            room = held[layer] = torch.empty(shape, dtype=new.dtype, device=new.device)
        total = self.length + new.shape[axis]
        room.narrow(axis, self.length, new.shape[axis]).copy_(new)
        return room.narrow(axis, 0, total)


def _real(place: Place) -> Tensor:
    all_real = torch.ones(1, place.length, dtype=torch.bool, device=place.positions.device)
    return all_real if place.keep is None else place.keep


def _both(old: Tensor | None, new: Tensor | None) -> Tensor | None:
    """One after the other, if both are known."""
    return None if old is None or new is None else _rows(old, new)


def _rows(old: Tensor, new: Tensor) -> Tensor:
    rows = max(len(old), len(new))
    return torch.cat((old.expand(rows, *old.shape[1:]), new.expand(rows, *new.shape[1:])), dim=1)
