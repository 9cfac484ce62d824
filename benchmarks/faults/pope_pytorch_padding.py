"""PoPE-pytorch | PoPE | padding

The README's call, with `causal=True` and a `mask`, raises without its fused kernel.
"""

import torch
from PoPE_pytorch import PoPE, flash_attn_with_pope

q, k, v = torch.randn(3, 2, 8, 16, 64)
mask = torch.ones(2, 16, dtype=torch.bool)
try:
    flash_attn_with_pope(q, k, v, pos_emb=PoPE(64, heads=8)(16), causal=True, mask=mask)
except RuntimeError as error:
    print(f"RuntimeError: {error}")
