"""The KV cache: keys and values of all tokens so far, in preallocated memory."""

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.positions import Positions


class Cache:
    """Memory for `capacity` tokens of `batch` sequences per layer, allocated at a layer's first write."""

    def __init__(self, *, layers: int, batch: int, capacity: int, axes: int, device: torch.device) -> None:
        self.keys: list[Tensor | None] = [None] * layers
        self.values: list[Tensor | None] = [None] * layers
        self.features: list[Tensor | None] = [None] * layers
        self.batch, self.capacity, self.length = batch, capacity, 0
        self.range = Positions.range(capacity, device=device) if axes == 1 else None
        self.positions: Positions | None = None
        self.explicit = False  # the caller passed positions

    def check(self, batch: int, more: int) -> None:
        """Refuse another batch size, or more tokens than the capacity."""
        if batch != self.batch:
            raise InputError(f"the cache was created for {self.batch} sequences, got {batch}")
        if self.length + more > self.capacity:
            raise InputError(
                f"the cache has room for {self.capacity} tokens and holds {self.length}, cannot add {more}"
            )

    def real_tokens(self) -> Int[Tensor, "b 1"] | None:
        """The number of real tokens in each row; None without padding."""
        padding_mask = None if self.positions is None else self.positions.padding_mask
        return None if padding_mask is None else padding_mask.sum(dim=1, keepdim=True)

    def extended(self, token_positions: Positions) -> Positions:
        """The positions of all tokens including these; the cache itself does not change."""
        if self.positions is None:
            return token_positions
        if self.range is not None and token_positions.first == self.length and self.positions.first == 0:
            positions, first = self.range.values[:, : self.length + token_positions.length], 0
        else:
            positions, first = _rows(self.positions.values, token_positions.values), None
        masks: tuple[Tensor | None, ...] = (self.positions.padding_mask, token_positions.padding_mask)
        if any(padding_mask is not None for padding_mask in masks):
            masks = (_real(self.positions), _real(token_positions))
        return Positions(
            positions,
            _both(self.positions.segments, token_positions.segments),
            first=first,
            tokens=_both(self.positions.tokens, token_positions.tokens),
            padding_mask=_both(*masks),
        )

    def commit(self, positions: Positions, *, explicit: bool = False) -> None:
        """Add the tokens, after all layers have processed them."""
        self.positions, self.length = positions, positions.length
        self.explicit |= explicit

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of the new tokens; returns those of all tokens."""
        return self._append(self.keys, layer, k, 2), self._append(self.values, layer, v, 2)

    def features_before(self, layer: int) -> Tensor | None:
        """The features of the cached tokens."""
        held = self.features[layer]
        return None if held is None or self.length == 0 else held[:, : self.length]

    def write_features(self, layer: int, features: Tensor) -> Tensor:
        """Append the features of the new tokens; returns those of all tokens."""
        return self._append(self.features, layer, features, 1)

    def _append(self, held: list[Tensor | None], layer: int, new: Tensor, axis: int) -> Tensor:
        memory = held[layer]
        if memory is None:
            shape = [*new.shape[:axis], self.capacity, *new.shape[axis + 1 :]]
            memory = held[layer] = torch.empty(shape, dtype=new.dtype, device=new.device)
        total = self.length + new.shape[axis]
        memory.narrow(axis, self.length, new.shape[axis]).copy_(new)
        return memory.narrow(axis, 0, total)


def _real(positions: Positions) -> Tensor:
    all_real = torch.ones(1, positions.length, dtype=torch.bool, device=positions.values.device)
    return all_real if positions.padding_mask is None else positions.padding_mask


def _both(old: Tensor | None, new: Tensor | None) -> Tensor | None:
    """Concatenate, if both are known."""
    return None if old is None or new is None else _rows(old, new)


def _rows(old: Tensor, new: Tensor) -> Tensor:
    rows = max(len(old), len(new))
    return torch.cat((old.expand(rows, *old.shape[1:]), new.expand(rows, *new.shape[1:])), dim=1)
