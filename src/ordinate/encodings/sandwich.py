"""The inner product of two sinusoidal embeddings as a bias."""

from typing import Annotated

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.parameters import Param

_AT_ONCE = 2**22  # cosines held at a time


class Sandwich(Encoding):
    """Adds the inner product of the two positions' sinusoidal embeddings to every score: it decays with distance, with
    oscillations. The first heads weigh it most. Nothing is trained."""

    family = "bias"
    formula = r"\frac{H}{8h} \sum_k \cos\!\left((i-j)\,b^{-2k/\bar d}\right)"
    paper = Paper(
        "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis",
        ("Ta-Chung Chi", "Ting-Han Fan", "Alexander I. Rudnicky", "Peter J. Ramadge"),
        2022,
        "2212.10356",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        width: Annotated[int, Param("width of the sinusoidal embedding: twice the number of cosines", low=2)] = 128,
        base: Annotated[float, Param("longest wavelength over 2 pi", low=1.0)] = 10_000.0,
        first: Annotated[int, Param("k counts from 0 (attn-gym), or from 1 (NeMo)", low=0, high=1)] = 0,
    ) -> None:
        super().__init__(shape, shift_invariant=True, real_positions=True)
        self.width, self.base, self.first = width, base, first

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        count = self.width // 2
        k = torch.arange(self.first, self.first + count, dtype=torch.float32, device=relative.device)
        theta = 1.0 / self.base ** (2 * k / self.width)
        steps = upcast(relative)
        parts = theta.split(max(1, _AT_ONCE // max(len(relative), 1)))
        waves = torch.stack([torch.cos(steps[:, None] * part).sum(dim=-1) for part in parts]).sum(dim=0)
        heads = self.shape.heads
        weight = heads / (8.0 * torch.arange(1, heads + 1, dtype=torch.float32, device=relative.device))
        return weight[:, None] * waves
