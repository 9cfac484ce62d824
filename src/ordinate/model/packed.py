"""Packed documents, one row each: attention then costs what the documents cost, not what their row would."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.core.place import Pair, Place


@dataclass(frozen=True)
class Documents:
    """Where the documents of some rows lie, the rows being one line of tokens, and how to lay them out side by side."""

    starts: Int[Tensor, " documents"]
    lengths: Int[Tensor, " documents"]
    number: Int[Tensor, " tokens"]  # the document that a token belongs to
    slot: Int[Tensor, " tokens"]  # its place once documents are rows of equal length
    token: Int[Tensor, " slots"]  # the token in each place; past the end of a document its last one stands again

    @staticmethod
    def of(documents: Int[Tensor, "b n"]) -> "Documents":
        """Neighbours with one id in one row are one document. Reads values, so it is not for compiled code."""
        line = documents.flatten()
        new = torch.ones_like(line, dtype=torch.bool)
        new[1:] = line[1:] != line[:-1]
        new[:: documents.shape[1]] = True
        starts = new.nonzero()[:, 0]
        lengths = torch.diff(starts, append=starts.new_tensor([len(line)]))
        number = new.cumsum(dim=0) - 1
        within = torch.arange(len(line), device=line.device) - starts[number]
        longest = int(lengths.max())
        steps = torch.arange(longest, device=line.device)
        token = starts[:, None] + torch.minimum(steps, lengths[:, None] - 1)
        return Documents(starts, lengths, number, number * longest + within, token.flatten())

    @property
    def longest(self) -> int:
        return len(self.token) // len(self.starts)

    def pad(self, x: Float[Tensor, "b h n e"]) -> Float[Tensor, "documents h longest e"]:
        """One row per document."""
        line = x.transpose(0, 1).reshape(x.shape[1], -1, x.shape[3])
        laid: Tensor = _Pad.apply(line, self.token, self.slot)  # type: ignore[no-untyped-call]
        return laid.view(x.shape[1], len(self.starts), -1, x.shape[3]).transpose(0, 1)

    def unpad(self, x: Float[Tensor, "documents h longest e"], rows: int) -> Float[Tensor, "b h n e"]:
        """Back into as many rows as there were."""
        line = x.transpose(1, 2).reshape(-1, x.shape[1] * x.shape[3])
        packed: Tensor = _Unpad.apply(line, self.slot)  # type: ignore[no-untyped-call]
        return packed.view(rows, -1, x.shape[1], x.shape[3]).transpose(1, 2)

    def pair(self, pair: Pair) -> Pair:
        """Every document against itself. Where all count from 0, they share one row of places."""
        positions, keep, batch = self._positions(pair.k), None, len(self.number) // pair.k.length
        if not pair.causal and int(self.lengths.min()) < self.longest:  # a causal document never sees what follows it
            keep = torch.arange(self.longest, device=self.token.device) < self.lengths[:, None]
        segments = None if pair.k.segments is None else self._rows(pair.k.segments.expand(batch, -1).flatten())
        if positions is None:
            start = Place.range(self.longest, device=self.token.device)
            place = Place(start.positions, segments, first=0)
        else:
            place = Place(positions, segments)
        return Pair(place, place, pair.causal, keep)

    def _positions(self, place: Place) -> Tensor | None:
        line = place.positions.expand(len(self.number) // place.length, -1, -1).flatten(0, 1)
        rows = self._rows(line)
        counted = torch.minimum(torch.arange(self.longest, device=rows.device), self.lengths[:, None] - 1)
        plain = place.axes == 1 and not rows.is_floating_point() and torch.equal(rows[..., 0], counted)
        return None if plain else rows

    def _rows(self, line: Tensor) -> Tensor:
        return line[self.token].view(len(self.starts), self.longest, *line.shape[1:])


class _Pad(torch.autograd.Function):
    """What stands past the end of a document is seen by nobody, so no gradient comes from there."""

    @staticmethod
    def forward(ctx: Any, line: Tensor, token: Tensor, slot: Tensor) -> Tensor:
        ctx.save_for_backward(slot)
        return line.index_select(1, token)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (slot,) = ctx.saved_tensors
        return grad.index_select(1, slot), None, None


class _Unpad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, line: Tensor, slot: Tensor) -> Tensor:
        ctx.save_for_backward(slot)
        ctx.slots = len(line)
        return line.index_select(0, slot)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (slot,) = ctx.saved_tensors
        return grad.new_zeros(ctx.slots, grad.shape[1]).index_copy_(0, slot, grad), None
