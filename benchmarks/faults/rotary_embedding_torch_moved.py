"""rotary-embedding-torch | RoPE; xPos; RoPE, axial | moved

Frequencies are a parameter even when they are not learned, so casting the model rounds them.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

exact = RotaryEmbedding(64)(torch.arange(4096))
moved = RotaryEmbedding(64).bfloat16()(torch.arange(4096)).float()
print(f"cosine off by {(moved.cos() - exact.cos()).abs().max():.1f}")
