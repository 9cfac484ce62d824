"""transformers | ALiBi (Falcon) | definition

The bias is computed in bfloat16 and then cast, also in a float32 model. Falcon's weights were trained that way; as an
ALiBi for other weights it is off.
"""

import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon

mask = torch.ones(1, 4096, dtype=torch.long)
bias, exact = falcon(mask, 12, torch.float32)[:, 0], bloom(mask, 12, torch.float32)[:, 0]
print(f"{bias.dtype}, off by {(bias - exact).abs().max():.1f} at 4,096 positions")
print(f"steepest head, distances 2 and 3: {bias[8, -1] - bias[8, -3]:.2f} and {bias[8, -1] - bias[8, -4]:.2f}")
