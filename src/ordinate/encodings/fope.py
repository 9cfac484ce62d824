"""Rotary position embedding with a sum of frequencies in every pair."""

import math
from typing import Annotated

import torch
from torch import nn
from torch.nn.functional import pad

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Prepared, Shape, Side, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.rotation import Angles, Convention, angles, even_width, frequencies, lay_out, turn


class Fope(Encoding):
    """RoPE with a sum of frequencies in every pair of channels, dominated by the pair's own. Frequencies that do not
    complete a rotation within the trained length are left out, and their pairs are not rotated.

    Implements the paper's formula; its code differs in four ways. It has sums for half of the pairs at most, and does
    not rotate the others. An unrotated pair has sine 1 beside cosine 1, so that it counts twice in scores. Coefficients
    have a smaller std: with K frequencies and H heads, a sigma there is sigma * sqrt(2 / (K + H)) here. The code
    printed in the paper divides every sum by the total of its coefficients, which the released code does only on
    request."""

    family = "rotation"
    formula = (
        r"\cos p\theta_k \mapsto \sum_m C_{mk}\cos p\theta_m,\quad \sin p\theta_k \mapsto \sum_m S_{mk}\sin p\theta_m,"
        r"\quad C,S = I + \mathcal N(0,\sigma^2/K)"
    )
    paper = Paper(
        "Fourier Position Embedding: Enhancing Attention's Periodic Extension for Length Generalization",
        ("Ermo Hua", "Che Jiang", "Xingtai Lv", "Kaiyan Zhang", "Youbang Sun", "Yuchen Fan", "Xuekai Zhu", "Biqing Qi",
         "Ning Ding", "Bowen Zhou"),
        2024, "2412.17739",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        sigma: Annotated[
            float, Param("how strong the other frequencies of a pair are, all together", low=0.0, high=1e3)
        ] = 0.3,
        clip: Annotated[bool, Param("leave out frequencies slower than one rotation in the trained length")] = True,
        trained: Annotated[bool, Param("train the sums; in the paper they stay as drawn")] = False,
        per_head: Annotated[bool, Param("separate sums for every head")] = True,
        base: Annotated[float, Param("base of the wavelengths", low=1.01)] = 10_000.0,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("fope", shape.head_dim, shape.dim, shape.heads)
        plain = sigma == 0 and not trained  # a pair of one frequency is a rotation
        super().__init__(
            shape, shift_invariant=plain, per_layer=True, side_dependent=per_head, real_positions=True,
            gqa_needs="per_head=false" if per_head else "",
        )  # fmt: skip
        self.sigma, self.base, self.pairs = sigma, base, pairs
        slowest = 2 * math.pi / shape.length if clip else 0.0
        speeds = [base ** (-2 * k / shape.head_dim) for k in range(shape.head_dim // 2)]
        self.kept = sum(speed >= slowest for speed in speeds)
        if self.kept == 0:
            raise InputError(
                f"fope leaves out all frequencies at trained length {shape.length}, where none completes a turn:"
                " choose a length of at least 7, or clip=false"
            )
        size = (2, shape.heads if per_head else 1, self.kept, self.kept)  # for cosines, and for sines
        if trained:
            self.sums = nn.Parameter(torch.empty(size))
        else:
            self.register_buffer("sums", torch.empty(size, dtype=torch.float32))

    def reset(self, generator: torch.Generator) -> None:
        if self.sums.is_meta:
            return
        with torch.no_grad():  # Xavier's rule for each square matrix, with gain sigma
            self.sums.normal_(0.0, self.sigma / math.sqrt(self.kept), generator=generator)
            self.sums.diagonal(dim1=-2, dim2=-1).add_(1.0)

    def prepare(self, positions: Positions) -> Angles:
        at, width = positions.values[..., 0], self.shape.head_dim
        theta = frequencies(width, self.base, at.device)[: self.kept]
        angle = angles(theta, at).unsqueeze(1)
        sums = upcast(self.sums).to(at.device)
        still = width // 2 - self.kept
        cos = pad(angle.cos().to(sums.dtype) @ sums[0], (0, still), value=1.0)
        sin = pad(angle.sin().to(sums.dtype) @ sums[1], (0, still))
        return lay_out(cos, sin, self.pairs)

    def rotate(self, x: Heads, state: Prepared, side: Side, features: Features | None = None) -> Heads:
        self.check_heads(x.shape[1])
        return turn(x, state, self.pairs)
