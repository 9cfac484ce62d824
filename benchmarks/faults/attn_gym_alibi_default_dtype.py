"""attn-gym | ALiBi | default dtype

Slopes are made from whole numbers, so they, and the distances they are multiplied by, have torch's default dtype.
"""

import torch
from attn_gym.mods import generate_alibi_bias

torch.set_default_dtype(torch.bfloat16)
scores, head, key = torch.zeros(2, dtype=torch.float32), torch.tensor(2), torch.tensor([0, 1])
bias = generate_alibi_bias(8)(scores, torch.tensor(0), head, torch.tensor(2001), key)
print(f"distances 2,001 and 2,000, slope 1/8: {bias[0].item():.3f} and {bias[1].item():.3f}")
