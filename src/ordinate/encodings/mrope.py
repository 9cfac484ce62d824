"""Rotary position embedding for text, images and video together."""

from typing import Annotated

import torch

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Shape, Side, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.rotation import Angles, Convention, even_width, frequencies, spread, turn


class MRope(Encoding):
    """RoPE with three coordinates (time, height, width): the fastest pairs of channels rotate with time, the next with
    height, the slowest with width. Text tokens have three equal coordinates, which makes it RoPE."""

    family = "rotation"
    formula = r"\text{angle of pair } k = b^{-2k/d}\, p^{(a_k)},\quad a = (t \dots t, h \dots h, w \dots w)"
    paper = Paper(
        "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any Resolution",
        ("Peng Wang", "Shuai Bai", "Sinan Tan", "Shijie Wang", "Zhihao Fan", "Jinze Bai", "Keqin Chen", "Xuejing Liu",
         "Jialin Wang", "Wenbin Ge", "Yang Fan", "Kai Dang", "Mengfei Du", "Xuancheng Ren", "Rui Men", "Dayiheng Liu",
         "Chang Zhou", "Jingren Zhou", "Junyang Lin"),
        2024, "2409.12191",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        sections: Annotated[
            tuple[int, ...] | None,
            Param("pairs for time, height and width; none: a quarter, and the rest halved", low=0),
        ] = None,
        base: Annotated[float, Param("base of the wavelengths", low=1.01)] = 10_000.0,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("mrope", shape.head_dim, shape.dim, shape.heads)
        super().__init__(shape, shift_invariant=True, axes=(3,), side_dependent=False, real_positions=True)
        count = shape.head_dim // 2
        if sections is None:  # 16, 24 and 24 of 64, as Qwen2-VL has them
            time = count // 4
            sections = (time, (count - time) // 2, (count - time + 1) // 2)
        if len(sections) != 3 or sum(sections) != count:
            raise InputError(
                f"mrope needs three sections that add up to {count} pairs (head width {shape.head_dim}), got"
                f" {', '.join(map(str, sections))}"
            )
        self.sections, self.base, self.pairs = sections, base, pairs

    def prepare(self, positions: Positions) -> Angles:
        at = upcast(positions.values)
        theta = frequencies(self.shape.head_dim, self.base, at.device)
        parts = [at[..., axis, None] * own for axis, own in enumerate(theta.split(self.sections))]
        return spread(torch.cat(parts, dim=-1).unsqueeze(1), self.pairs)

    def rotate(self, x: Heads, state: Angles, side: Side, features: Features | None = None) -> Heads:
        return turn(x, state, self.pairs)
