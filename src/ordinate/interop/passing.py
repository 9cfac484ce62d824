"""One forward pass through an attached model: where its tokens stand, and each layer's encoding bound to that."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.place import Pair, Place, check_positions
from ordinate.core.positions import counted
from ordinate.interop.memory import Memory
from ordinate.model.bound import Bound
from ordinate.model.edge import readable


class Pass:
    """Goes from the model's own forward down to every attention as a keyword, so that nothing is kept in between."""

    def __init__(
        self, encodings: Sequence[Encoding], pair: Pair, memory: Memory | None, *, shared: bool, weights: bool
    ):
        self.encodings, self.pair, self.memory, self.weights = encodings, pair, memory, weights
        bounds = {id(encoding): Bound(encoding, pair) for encoding in encodings}
        self.bounds = bounds if shared else None

    def bound(self, layer: int) -> Bound:
        """The encoding of a layer at work. Layers that are computed again in the backward pass share nothing."""
        encoding = self.encodings[layer]
        return Bound(encoding, self.pair) if self.bounds is None else self.bounds[id(encoding)]


def make_pair(given: dict[str, Any], shape: tuple[int, int], memory: Memory | None, *, causal: bool) -> Pair:
    """Who stands where and sees whom, from what transformers hands to a model: input_ids, attention_mask,
    position_ids, token_type_ids. Positions count real tokens; without a mask or a cache, positions that jump begin
    another document, as transformers has it.
    """
    (b, n), seen = shape, 0 if memory is None else memory.seen
    device = (given["inputs_embeds"] if given.get("input_ids") is None else given["input_ids"]).device
    mask, documents = given.get("attention_mask"), None
    keep = _kept(mask, b, seen + n)
    positions = given.get("position_ids")
    if positions is not None:
        if positions.dim() != 2:
            raise InputError(f"position_ids need shape [{b}, {n}], got {list(positions.shape)}: one axis alone is read")
        sizes = dict(batch=b, length=n, axes=1)
        positions = check_positions(positions, **sizes, values=readable(positions), whole="an attached model")[..., 0]
        documents = _documents(positions) if mask is None and memory is None else None
    elif keep is not None:
        positions = counted(keep)[:, seen:, 0]
    else:
        positions = Place.range(n, start=seen, device=device).positions[..., 0]
    tokens, segments = given.get("input_ids"), given.get("token_type_ids")
    if memory is not None:
        positions, tokens, segments = memory.places(positions, tokens, segments, b)
    first = 0 if documents is None and _consecutive(positions) else None
    if first is not None:
        positions = positions[:1]
    place = Place(positions.unsqueeze(-1), segments, documents, first, tokens, keep)
    queries = place.rows(seen, seen + n) if seen else place
    return Pair(queries, place, causal, separate=documents is not None)


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
    keep = mask.bool()
    return None if readable(keep) and keep.all() else keep


def _documents(positions: Tensor) -> Tensor | None:
    """Packed documents by number, where positions do not rise by one; None if there is one alone."""
    jumps = torch.zeros_like(positions)
    jumps[:, 1:] = positions.diff(dim=1) != 1
    return None if readable(jumps) and not jumps.any() else jumps.cumsum(dim=1)


def _consecutive(positions: Tensor) -> bool:
    counts = torch.arange(positions.shape[1], device=positions.device)
    return readable(positions) and bool((positions == counts).all())
