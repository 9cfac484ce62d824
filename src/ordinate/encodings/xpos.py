"""Rotary position embedding whose scores decay with distance."""

import math
from typing import Annotated, Any

import torch

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Shape, Side
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.rotation import Convention, angles, even_width, frequencies, spread, turn


class XPos(Encoding):
    """RoPE with a growing scale on queries and the inverse scale on keys: the score of a pair of channels decays
    exponentially with distance, fast pairs first. Causal models only."""

    family = "rotation"
    formula = r"\zeta_k^{(i-j)/s}\; q_i^\top R_{i-j} k_j,\quad \zeta_k = \frac{2k/d+\gamma}{1+\gamma}"
    paper = Paper(
        "A Length-Extrapolatable Transformer",
        ("Yutao Sun", "Li Dong", "Barun Patra", "Shuming Ma", "Shaohan Huang", "Alon Benhaim", "Vishrav Chaudhary",
         "Xia Song", "Furu Wei"),
        2022, "2212.10554",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        base: Annotated[float, Param("base of the wavelengths", low=1.0)] = 10_000.0,
        gamma: Annotated[float, Param("larger means slower decay", low=0.01, high=100.0)] = 0.4,
        scale_base: Annotated[float, Param("distance over which a pair decays by its own factor", low=1.0)] = 512.0,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("xpos", shape.head_dim, shape.dim, shape.heads)
        # A key at position j carries zeta^(-j/s); e^80 is as large as float32 bears.
        farthest = int(80 * scale_base / -math.log(gamma / (1 + gamma)))
        super().__init__(shape, shift_invariant=True, causal_only=True, max_positions=farthest)
        self.base, self.gamma, self.scale_base, self.pairs = base, gamma, scale_base, pairs

    def prepare(self, positions: Positions) -> tuple[Any, Any]:
        self.check_range(positions)
        at = positions.values[..., 0]
        width = self.shape.head_dim
        angle = angles(frequencies(width, self.base, at.device), at).unsqueeze(1)
        k = torch.arange(0, width, 2, dtype=torch.float32, device=at.device)
        zeta = (k / width + self.gamma) / (1 + self.gamma)
        power = (at.float() / self.scale_base)[:, None, :, None]
        return spread(angle, self.pairs, zeta**power), spread(angle, self.pairs, zeta**-power)

    def rotate(self, x: Heads, state: tuple[Any, Any], side: Side, features: Features | None = None) -> Heads:
        if x.dtype == torch.float16:
            raise InputError("xpos scales keys past what float16 can hold: use bfloat16 or float32")
        return turn(x, state[0] if side == "q" else state[1], self.pairs)
