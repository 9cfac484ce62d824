"""positional-encodings."""

from typing import Any, ClassVar

import torch
from positional_encodings import torch_encodings as theirs
from torch import Tensor

from benchmarks import formulas
from benchmarks.contracts import Subject

WIDTH = 24


class Sinusoidal(Subject):
    package = "positional-encodings"
    options: ClassVar[dict[str, Any]] = {
        "a width that the axes do not divide": lambda: theirs.PositionalEncoding3D(11)(torch.zeros(1, 5, 6, 4, 11)),
        "Summer": lambda: theirs.Summer(theirs.PositionalEncoding1D(10))(torch.zeros(1, 6, 10)),
        "channels first": lambda: theirs.PositionalEncodingPermute2D(8)(torch.zeros(1, 8, 5, 6)),
    }

    def __init__(self, axes: int) -> None:
        self.axes, self.encoding = axes, f"sinusoidal, {axes}-D"

    def module(self) -> Any:
        return getattr(theirs, f"PositionalEncoding{self.axes}D")(WIDTH)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return module(torch.zeros(1, length, *[2] * (self.axes - 1), WIDTH, dtype=dtype))

    def definition(self) -> tuple[Tensor, Tensor]:
        """As its README states it: the channels are split evenly between the axes."""
        sizes, width = (5, 6, 4)[: self.axes], WIDTH // self.axes
        wanted = []
        for axis, size in enumerate(sizes):
            shape = [size if a == axis else 1 for a in range(self.axes)]
            wanted.append(formulas.sinusoidal(size, width).view(*shape, width).expand(*sizes, width))
        return self.module()(torch.zeros(1, *sizes, WIDTH))[0], torch.cat(wanted, dim=-1)


SUBJECTS = tuple(Sinusoidal(axes) for axes in (1, 2, 3))
