"""positional-encodings | sinusoidal, 1-D; sinusoidal, 2-D; sinusoidal, 3-D | moved

Frequencies are a buffer, which casting the model rounds; positions are then made in its dtype.
"""

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D

x = torch.zeros(1, 4096, 64)
exact, moved = PositionalEncoding1D(64)(x), PositionalEncoding1D(64).bfloat16()(x.bfloat16())
print(f"off by {(moved - exact).abs().max():.1f}, where values lie between -1 and 1")
