"""Which hidden state a classification reads: one per sequence, or one per document of packed rows."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ordinate.core.positions import Positions
from ordinate.model.packed import Documents


def append_readout(
    x: Float[Tensor, "b n d"], positions: Positions, readout: Float[Tensor, " d"]
) -> tuple[Float[Tensor, "b n+1 d"], Positions]:
    """Append the read-out token: a trained vector right after the last real token of each sequence."""
    mask, n = positions.padding_mask, positions.length
    at, last, order = torch.arange(n + 1, device=x.device), torch.full((1, 1), n - 1, device=x.device), None
    if mask is not None:
        last = n - 1 - mask.int().flip(1).argmax(dim=1, keepdim=True)
        order = torch.where(at <= last, at, torch.where(at == last + 1, n, at - 1))  # padding moves behind it

    def placed(rows: Tensor, new: Tensor) -> Tensor:
        rows = torch.cat((rows, new.expand(len(rows), *new.shape[1:])), dim=1)
        if order is None:
            return rows
        return rows.take_along_dim(order if rows.dim() == 2 else order[..., None], dim=1)

    segments, tokens = positions.segments, positions.tokens
    if segments is not None:
        segments = segments.expand(max(len(segments), len(last)), -1)
        segments = placed(segments, segments.take_along_dim(last, dim=1))
    return placed(x, readout.to(x.dtype)[None, None]), Positions(
        placed(positions.values, positions.values.amax(dim=1, keepdim=True) + 1),
        segments,
        first=positions.first,
        tokens=None if tokens is None else placed(tokens, tokens.new_tensor([[-1]])),
        padding_mask=None if mask is None else placed(mask, mask.new_tensor([[True]])),
    )


def of_sequences(
    x: Float[Tensor, "b n d"], readout: str, padding_mask: Bool[Tensor, "#b n"] | None
) -> Float[Tensor, "b d"]:
    """The mean, the first or the last of each sequence's real tokens."""
    if padding_mask is None:
        return x.mean(dim=1) if readout == "mean" else x[:, 0 if readout == "first" else -1]
    if readout == "mean":
        return (x * padding_mask.unsqueeze(-1)).sum(dim=1) / padding_mask.sum(dim=1, keepdim=True)
    real = padding_mask.int()
    at = real.argmax(dim=1) if readout == "first" else real.shape[1] - 1 - real.flip(1).argmax(dim=1)
    return x[torch.arange(len(x), device=x.device), at.expand(len(x))]


def of_documents(x: Float[Tensor, "b n d"], readout: str, ids: Int[Tensor, "#b n"]) -> Float[Tensor, "documents d"]:
    """The same for each document, in their order."""
    documents, line = Documents.of(ids.expand(len(x), -1)), x.flatten(0, 1)
    if readout == "mean":
        sums = x.new_zeros(len(documents.starts), x.shape[-1]).index_add(0, documents.number, line)
        return sums / documents.lengths[:, None]
    return line[documents.starts if readout == "first" else documents.starts + documents.lengths - 1]
