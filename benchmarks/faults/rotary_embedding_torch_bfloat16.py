"""rotary-embedding-torch | RoPE; RoPE, learned frequencies; xPos | bfloat16

Positions are made in the dtype of the queries. bfloat16 has no odd numbers above 256 and steps of 16 at 4,096, so
neighbors are turned by the same angle.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

torch.manual_seed(0)
q = torch.randn(1, 1, 4096, 64)
exact = RotaryEmbedding(64).rotate_queries_or_keys(q)
narrow = RotaryEmbedding(64).rotate_queries_or_keys(q.bfloat16()).float()
print(f"error {(narrow - exact).abs().max():.1f}, rounding once {(exact.bfloat16() - exact).abs().max():.3f}")
