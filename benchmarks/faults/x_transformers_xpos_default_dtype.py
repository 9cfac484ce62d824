"""x-transformers | xPos | default dtype

The exponent of the scales is a quotient of whole numbers, so it has torch's default dtype.
"""

import torch
from x_transformers.x_transformers import RotaryEmbedding

rotary, at = RotaryEmbedding(64, use_xpos=True), torch.arange(4096)
scale = rotary(at)[1]
torch.set_default_dtype(torch.bfloat16)
print(f"scales off by up to {((rotary(at)[1] - scale) / scale).abs().max().item():.1%}")
