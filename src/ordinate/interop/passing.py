"""One forward pass of an attached model: the positions of its tokens, and each layer's bound encoding."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext, Positions, check_positions
from ordinate.interop.memory import Memory
from ordinate.model.bound_encoding import BoundEncoding
from ordinate.model.inputs import readable
from ordinate.model.packed import count_positions, ignore_padding


class Pass:
    """Passed from the model's forward to every attention as a keyword, so that no state stays between passes."""

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
        """The bound encoding of a layer. Layers recomputed in the backward pass share nothing."""
        encoding = self.encodings[layer]
        return BoundEncoding(encoding, self.context) if self.bounds is None else self.bounds[id(encoding)]


def make_context(
    given: dict[str, Any], shape: tuple[int, int], memory: Memory | None, *, causal: bool
) -> AttentionContext:
    """The context, from the inputs of a transformers model: input_ids, attention_mask, position_ids and
    token_type_ids. Positions count real tokens; without a mask or a cache, a jump in position_ids starts another
    document, as in transformers.
    """
    (b, n), seen = shape, 0 if memory is None else memory.seen
    device = (given["inputs_embeds"] if given.get("input_ids") is None else given["input_ids"]).device
    mask, document_ids = given.get("attention_mask"), None
    padding_mask = _check_mask(mask, b, seen + n)
    positions = given.get("position_ids")
    if positions is not None:
        if positions.dim() != 2:
            raise InputError(
                f"position_ids need shape [{b}, {n}], got {list(positions.shape)}: only 1 axis is supported"
            )
        sizes = dict(batch=b, length=n, axes=1)
        checked = check_positions(positions, **sizes, values=readable(positions), whole="an attached model")
        if padding_mask is not None:
            checked = ignore_padding(checked, padding_mask[:, seen:])
        positions = checked[..., 0]
        document_ids = _documents(positions) if mask is None and memory is None else None
    elif padding_mask is not None:
        positions = count_positions(padding_mask)[:, seen:, 0]
    else:
        positions = Positions.range(n, start=seen, device=device).values[..., 0]
    tokens, segments = given.get("input_ids"), given.get("token_type_ids")
    if memory is not None:
        positions, tokens, segments = memory.extend(positions, tokens, segments, b)
    first = 0 if document_ids is None and _consecutive(positions) else None
    if first is not None:
        positions = positions[:1]
    token_positions = Positions(positions.unsqueeze(-1), segments, document_ids, first, tokens, padding_mask)
    queries = token_positions.slice(seen, seen + n) if seen else token_positions
    return AttentionContext(queries, token_positions, causal, mask_documents=document_ids is not None)


def _check_mask(mask: Tensor | None, b: int, total: int) -> Tensor | None:
    """The mask of real tokens; None if all are."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor) or mask.shape != (b, total):
        found = list(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        wanted = f"an attention_mask of shape [{b}, {total}], 0 for padding"
        raise InputError(f"an attached model takes {wanted}, got {found}: the encoding defines all other masking")
    padding_mask = mask.bool()
    return None if readable(padding_mask) and padding_mask.all() else padding_mask


def _documents(positions: Tensor) -> Tensor | None:
    """Document numbers, one more where positions do not rise by one; None for a single document."""
    jumps = torch.zeros_like(positions)
    jumps[:, 1:] = positions.diff(dim=1) != 1
    return None if readable(jumps) and not jumps.any() else jumps.cumsum(dim=1)


def _consecutive(positions: Tensor) -> bool:
    counts = torch.arange(positions.shape[1], device=positions.device)
    return readable(positions) and bool((positions == counts).all())
