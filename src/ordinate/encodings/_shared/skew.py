"""From one number per token and gap to one per query and key, without an index: rows are shifted by reading them on."""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ordinate.core.encoding import relative_line
from ordinate.core.positions import AttentionContext


def skew_line(context: AttentionContext) -> Num[Tensor, " g"]:
    """The gaps that the queries of a consecutive pair need, in falling order: behind a causal one lies nothing."""
    gaps = relative_line(context)
    return gaps[: context.k.length] if context.causal else gaps


def toeplitz(
    x: Float[Tensor, "b h n e"], line: Float[Tensor, "#h g e"], first: int, columns: int
) -> Float[Tensor, "b h n columns"]:
    """Row r and column c hold the product of x[r] with line[first - r + c].

    Products with one more line make rows of g + 1 numbers; read in rows of g from `first` on, they move by one each.
    Where that place lies outside the line, the number is one of a neighboring row: for pairs that are masked.
    """
    rows, gaps = x.shape[2], line.shape[1]
    products = torch.matmul(x, torch.nn.functional.pad(line, (0, 0, 0, 1)).mT).flatten(2)
    shifted: Tensor = products[:, :, first : first + rows * gaps].unflatten(2, (rows, gaps))
    return shifted[..., :columns]
