"""One forward pass through an attached model: where its tokens stand, and each layer's encoding bound to that."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.core.coverage import counted
from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext, Positions, check_positions
from ordinate.interop.memory import Memory
from ordinate.model.bound_encoding import BoundEncoding
from ordinate.model.inputs import readable


class Pass:
    """Goes from the model's own forward down to every attention as a keyword, so that nothing is kept in between."""

    def __init__(
        self,
        encodings: Sequence[Encoding],
        context: AttentionContext,
        memory: Memory | None,
        *,
        shared: bool,
        weights: bool,
    ):
        self.encodings, self.context, self.memory, self.weights = encodings, context, memory, weights
        bounds = {id(encoding): BoundEncoding(encoding, context) for encoding in encodings}
        self.bounds = bounds if shared else None

    def bound(self, layer: int) -> BoundEncoding:
        """The encoding of a layer at work. Layers that are computed again in the backward pass share nothing."""
        encoding = self.encodings[layer]
        return BoundEncoding(encoding, self.context) if self.bounds is None else self.bounds[id(encoding)]


def make_context(
    given: dict[str, Any], shape: tuple[int, int], memory: Memory | None, *, causal: bool
) -> AttentionContext:
    """Who stands where and sees whom, from what transformers hands to a model: input_ids, attention_mask,
    position_ids, token_type_ids. Positions count real tokens; without a mask or a cache, positions that jump begin
    another document, as transformers has it.
    """
    (b, n), seen = shape, 0 if memory is None else memory.seen
    device = (given["inputs_embeds"] if given.get("input_ids") is None else given["input_ids"]).device
    mask, document_ids = given.get("attention_mask"), None
    padding_mask = _kept(mask, b, seen + n)
    positions = given.get("position_ids")
    if positions is not None:
        if positions.dim() != 2:
            raise InputError(f"position_ids need shape [{b}, {n}], got {list(positions.shape)}: one axis alone is read")
        sizes = dict(batch=b, length=n, axes=1)
        positions = check_positions(positions, **sizes, values=readable(positions), whole="an attached model")[..., 0]
        document_ids = _documents(positions) if mask is None and memory is None else None
    elif padding_mask is not None:
        positions = counted(padding_mask)[:, seen:, 0]
    else:
        positions = Positions.range(n, start=seen, device=device).values[..., 0]
    tokens, segments = given.get("input_ids"), given.get("token_type_ids")
    if memory is not None:
        positions, tokens, segments = memory.places(positions, tokens, segments, b)
    first = 0 if document_ids is None and _consecutive(positions) else None
    if first is not None:
        positions = positions[:1]
    token_positions = Positions(positions.unsqueeze(-1), segments, document_ids, first, tokens, padding_mask)
    queries = token_positions.rows(seen, seen + n) if seen else token_positions
    return AttentionContext(queries, token_positions, causal, separate=document_ids is not None)


def _kept(mask: Tensor | None, b: int, total: int) -> Tensor | None:
    """Which tokens are real; None if all are."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor) or mask.shape != (b, total):
        found = list(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(
            f"an attached model takes an attention_mask of shape [{b}, {total}], 0 for padding, got {found}: who sees"
            " whom beyond that is the encoding's business"
        )
    padding_mask = mask.bool()
    return None if readable(padding_mask) and padding_mask.all() else padding_mask


def _documents(positions: Tensor) -> Tensor | None:
    """Packed documents by number, where positions do not rise by one; None if there is one alone."""
    jumps = torch.zeros_like(positions)
    jumps[:, 1:] = positions.diff(dim=1) != 1
    return None if readable(jumps) and not jumps.any() else jumps.cumsum(dim=1)


def _consecutive(positions: Tensor) -> bool:
    counts = torch.arange(positions.shape[1], device=positions.device)
    return readable(positions) and bool((positions == counts).all())
