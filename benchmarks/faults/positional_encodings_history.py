"""positional-encodings | sinusoidal, 1-D; sinusoidal, 2-D; sinusoidal, 3-D | history

The last table is kept by shape alone, so a float32 call after a bfloat16 one gets a bfloat16 table.
"""

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D

x, encoding = torch.zeros(1, 512, 64), PositionalEncoding1D(64)
encoding(x.bfloat16())
again = encoding(x)
print(f"float32 after bfloat16: {again.dtype}, off by {(again - PositionalEncoding1D(64)(x)).abs().max():.4f}")
