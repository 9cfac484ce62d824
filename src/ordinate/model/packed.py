"""Packed documents: their positions within a row, and their layout as one row per document.

Laid out as rows, attention costs the squares of the documents' lengths, not the square of the packed row's.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ordinate.core.positions import AttentionContext, Positions, count_real


def number_documents(document_ids: Int[Tensor, "b n"]) -> Int[Tensor, "b n"]:
    """Number the documents of each row from left to right: an id that occurs again later is another document."""
    return torch.nn.functional.pad(document_ids.diff(dim=1) != 0, (1, 0)).cumsum(dim=1)


def count_positions(
    padding_mask: Bool[Tensor, "#b n"],
    document_ids: Int[Tensor, "#b n"] | None = None,
    before: int | Int[Tensor, "b 1"] = 0,
) -> Int[Tensor, "b n 1"]:
    """Positions that count real tokens, restarting at 0 with each document; `before` real tokens are in the cache.

    Padding has the position of the last real token before it, or 0.
    """
    return (count_real(padding_mask, document_ids) + before - 1).clamp(min=0).unsqueeze(-1)


@dataclass(frozen=True)
class Documents:
    """The documents of a batch of packed rows, flattened to one sequence of tokens, and their layout as rows."""

    starts: Int[Tensor, " documents"]
    lengths: Int[Tensor, " documents"]
    number: Int[Tensor, " tokens"]  # the document of each token
    slot: Int[Tensor, " tokens"]  # its index in the flattened rows of `longest` tokens, one per document
    token: Int[Tensor, " slots"]  # the token in each slot; after the end of a document its last token, repeated

    @staticmethod
    def of(document_ids: Int[Tensor, "b n"]) -> "Documents":
        """Adjacent tokens of a row with equal ids form a document. Reads values, so compiled code cannot call it."""
        line = document_ids.flatten()
        new = torch.ones_like(line, dtype=torch.bool)
        new[1:] = line[1:] != line[:-1]
        new[:: document_ids.shape[1]] = True
        starts = new.nonzero()[:, 0]
        lengths = torch.diff(starts, append=starts.new_tensor([len(line)]))
        number = new.cumsum(dim=0) - 1
        within = torch.arange(len(line), device=line.device) - starts[number]
        longest = int(lengths.max())
        token = starts[:, None] + torch.minimum(torch.arange(longest, device=line.device), lengths[:, None] - 1)
        return Documents(starts, lengths, number, number * longest + within, token.flatten())

    @staticmethod
    def worth_laying_out(context: AttentionContext) -> "Documents | None":
        """The documents, if one padded row per document gives fewer scores than the packed rows; otherwise None."""
        ids = context.k.document_ids
        if not context.mask_documents or ids is None or context.padding_mask is not None or context.q is not context.k:
            return None
        if context.relation is not None:  # it is given for rows, not for documents
            return None
        if ids.is_meta or ids.is_cuda or torch.compiler.is_compiling():  # on CUDA, FlexAttention skips other documents
            return None
        documents = Documents.of(ids)
        return documents if len(documents.starts) * documents.longest**2 < ids.shape[0] * ids.shape[1] ** 2 else None

    @property
    def longest(self) -> int:
        return len(self.token) // len(self.starts)

    def pad(self, x: Float[Tensor, "b n c"]) -> Float[Tensor, "documents longest c"]:
        """One row per document."""
        laid_out: Tensor = _Pad.apply(x.flatten(0, 1), self.token, self.slot)  # type: ignore[no-untyped-call]
        return laid_out.view(len(self.starts), self.longest, -1)

    def unpad(self, x: Float[Tensor, "documents longest c"], rows: int) -> Float[Tensor, "b n c"]:
        """Back into the packed rows."""
        line: Tensor = _Unpad.apply(x.flatten(0, 1), self.slot)  # type: ignore[no-untyped-call]
        return line.view(rows, -1, x.shape[-1])

    def context(self, context: AttentionContext) -> AttentionContext:
        """Self-attention within each document. If all count from 0, they share one row of positions."""
        rows, padding_mask = len(self.number) // context.k.length, None
        if not context.causal and int(self.lengths.min()) < self.longest:  # causal tokens never see padding after
            padding_mask = torch.arange(self.longest, device=self.token.device) < self.lengths[:, None]
        segments, tokens = (
            row if row is None else self._laid_out(row.expand(rows, -1))
            for row in (context.k.segments, context.k.tokens)
        )
        positions = self._laid_out(context.k.values.expand(rows, -1, -1))
        counted = Positions.range(self.longest, device=self.token.device)
        stop = torch.minimum(counted.values[..., 0], self.lengths[:, None] - 1)
        plain = context.k.axes == 1 and torch.equal(positions[..., 0], stop)
        first = 0 if plain else None
        token_positions = Positions(
            counted.values if plain else positions, segments, first=first, tokens=tokens, padding_mask=padding_mask
        )
        return AttentionContext(token_positions, token_positions, context.causal)

    def _laid_out(self, x: Tensor) -> Tensor:
        line = x.flatten(0, 1)
        return line[self.token].view(len(self.starts), self.longest, *line.shape[1:])


class _Pad(torch.autograd.Function):
    """No token attends to the padding after a document, so no gradient comes from there."""

    @staticmethod
    def forward(ctx: Any, line: Tensor, token: Tensor, slot: Tensor) -> Tensor:
        ctx.save_for_backward(slot)
        return line.index_select(0, token)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (slot,) = ctx.saved_tensors
        return grad.index_select(0, slot), None, None


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
