"""attn-gym's score modifications, called on index tensors as FlexAttention calls them."""

from typing import Any

import torch
from attn_gym.mods import generate_alibi_bias, generate_sandwich_bias
from torch import Tensor

from benchmarks import formulas
from benchmarks.contracts import FAR, Subject

HEADS = 12


class ALiBi(Subject):
    package, encoding = "attn-gym", "ALiBi"

    def module(self) -> Any:
        return generate_alibi_bias(HEADS)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        heads, last = torch.arange(HEADS)[:, None], torch.tensor(length - 1)
        scores = torch.zeros(HEADS, length, dtype=dtype)
        return module(scores, torch.tensor(0), heads, last, torch.arange(length)[None])

    def definition(self) -> tuple[Tensor, Tensor]:
        return self.values(self.module(), 64, torch.float32), formulas.alibi(HEADS, 64)


class Sandwich(ALiBi):
    encoding = "Sandwich"

    def module(self) -> Any:
        return generate_sandwich_bias(HEADS, 2 * FAR)

    def definition(self) -> tuple[Tensor, Tensor]:
        return self.values(self.module(), 64, torch.float32), formulas.sandwich(HEADS, 64)


SUBJECTS = (ALiBi(), Sandwich())
