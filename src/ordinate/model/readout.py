"""Which hidden state a classification reads: one per sequence, or one per document of packed rows."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ordinate.model.packed import Documents


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
