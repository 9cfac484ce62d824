"""PoPE-pytorch | PoPE | cache

Without its fused kernel, several new tokens at once are masked as if they were the first of the sequence. One new
token at a time is right.
"""

import torch
from PoPE_pytorch import PoPE, flash_attn_with_pope

torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 40, 64)
turns = PoPE(64, heads=2)(40)
full = flash_attn_with_pope(q, k, v, pos_emb=turns, causal=True)
part = flash_attn_with_pope(q[:, :, -4:], k, v, pos_emb=turns, causal=True)
print(f"the last 4 tokens with cached keys: off by {(part - full[:, :, -4:]).abs().max():.1f}")
