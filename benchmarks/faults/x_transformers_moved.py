"""x-transformers | sinusoidal, scaled; RoPE; xPos; PoPE | moved

Frequencies are a buffer, which casting the model rounds; positions are then brought to its dtype. (Under autocast,
which its rotations switch off for themselves, they are right.)
"""

import torch
from x_transformers.x_transformers import PolarEmbedding, RotaryEmbedding, ScaledSinusoidalEmbedding

at = torch.arange(4096)
for make in (lambda: RotaryEmbedding(64), lambda: RotaryEmbedding(64, use_xpos=True), lambda: PolarEmbedding(64, 1)):
    exact, moved = make()(at)[0], make().bfloat16()(at)[0]
    print(f"cosine off by {(moved.float().cos() - exact.cos()).abs().max():.1f}")
exact, moved = ScaledSinusoidalEmbedding(64), ScaledSinusoidalEmbedding(64).bfloat16()
print(f"sinusoidal off by {(moved(at[None]) - exact(at[None])).abs().max() * 8:.1f} of 1")
