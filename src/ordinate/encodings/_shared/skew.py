"""Relative products without a gather: from one product per query and diagonal to one per query and key.

This is the relative shift of Transformer-XL: products are computed for every row and every diagonal, and each row is
then shifted by one more step than the row above it, by reading the same memory with another row length.
"""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ordinate.core.positions import AttentionContext


def skew_positions(context: AttentionContext) -> Num[Tensor, " g"]:
    """The relative positions that the queries of a consecutive context need, descending; no negative causal ones."""
    relative = context.diagonals()
    return relative[: context.k.length] if context.causal else relative


def skewed_product(
    x: Float[Tensor, "b h n e"], vectors: Float[Tensor, "#h g e"], first: int, columns: int
) -> Float[Tensor, "b h n columns"]:
    """The product of x[r] with vectors[first - r + c] in row r and column c.

    With one zero vector appended, the flat products have entry r * (g + 1) + c for row r and vector c. Read from
    `first` on in rows of g, entry (r, c) is first + r * g + c = r * (g + 1) + (first - r + c): row r, vector
    first - r + c. Where that index leaves 0..g the entry belongs to another row; those pairs must be masked.
    """
    rows, count = x.shape[2], vectors.shape[1]
    products = torch.matmul(x, torch.nn.functional.pad(vectors, (0, 0, 0, 1)).mT).flatten(2)
    shifted: Tensor = products[:, :, first : first + rows * count].unflatten(2, (rows, count))
    return shifted[..., :columns]
