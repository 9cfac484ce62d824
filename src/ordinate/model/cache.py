"""Keys and values of the tokens seen so far, in memory set aside beforehand."""

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.positions import Positions


class Cache:
    """Room for `capacity` tokens of `batch` sequences in every layer; set aside when a layer first writes."""

    def __init__(self, *, layers: int, batch: int, capacity: int, axes: int, device: torch.device) -> None:
        self.keys: list[Tensor | None] = [None] * layers
        self.values: list[Tensor | None] = [None] * layers
        self.features: list[Tensor | None] = [None] * layers
        self.batch, self.capacity, self.length = batch, capacity, 0
        self.range = Positions.range(capacity, device=device) if axes == 1 else None
        self.positions: Positions | None = None
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
        padding_mask = None if self.positions is None else self.positions.padding_mask
        return None if padding_mask is None else padding_mask.sum(dim=1, keepdim=True)

    def extended(self, token_positions: Positions) -> Positions:
        """The places of all tokens once these are added. Changes nothing yet."""
        if self.positions is None:
            return token_positions
        if self.range is not None and token_positions.first == self.length and self.positions.first == 0:
            positions, first = self.range.values[:, : self.length + token_positions.length], 0
        else:
            positions, first = _rows(self.positions.values, token_positions.values), None
        keeps: tuple[Tensor | None, ...] = (self.positions.padding_mask, token_positions.padding_mask)
        if any(padding_mask is not None for padding_mask in keeps):
            keeps = (_real(self.positions), _real(token_positions))
        return Positions(
            positions,
            _both(self.positions.segments, token_positions.segments),
            first=first,
            tokens=_both(self.positions.tokens, token_positions.tokens),
            padding_mask=_both(*keeps),
        )

    def commit(self, positions: Positions, *, explicit: bool = False) -> None:
        """Take the tokens in, once the model has seen them all the way through."""
        self.positions, self.length = positions, positions.length
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


def _real(positions: Positions) -> Tensor:
    all_real = torch.ones(1, positions.length, dtype=torch.bool, device=positions.values.device)
    return all_real if positions.padding_mask is None else positions.padding_mask


def _both(old: Tensor | None, new: Tensor | None) -> Tensor | None:
    """One after the other, if both are known."""
    return None if old is None or new is None else _rows(old, new)


def _rows(old: Tensor, new: Tensor) -> Tensor:
    rows = max(len(old), len(new))
    return torch.cat((old.expand(rows, *old.shape[1:]), new.expand(rows, *new.shape[1:])), dim=1)
