"""One attention layer over tokens, for libraries that turn queries and keys and leave attention to the user."""

import torch
from torch import Tensor, nn

from benchmarks.contracts import VOCABULARY, spread

HEADS, WIDTH = 2, 64


class TokenAttention(nn.Module):
    """Queries, keys and values looked up by token, beside the library's own module."""

    def __init__(self, position: nn.Module) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tables = nn.Parameter(torch.randn(3, VOCABULARY, HEADS, WIDTH))
        self.position = position
        spread(self)

    def qkv(self, tokens: Tensor) -> Tensor:
        """[3, b, h, n, e]."""
        return self.tables[:, tokens].transpose(2, 3)

    @staticmethod
    def mix(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Causal attention of the last tokens on all, [b, n, h * e]."""
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        weights = (q @ k.mT * WIDTH**-0.5).masked_fill(~seen, float("-inf")).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)
