"""x-transformers | PoPE | options

`polar_bias_uniform_init=True` writes to a parameter that records gradients.
"""

from x_transformers import Decoder

try:
    Decoder(dim=32, depth=1, heads=2, polar_pos_emb=True, polar_bias_uniform_init=True)
except RuntimeError as error:
    print(f"RuntimeError: {error}")
