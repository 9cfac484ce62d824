"""attn-gym | ALiBi | definition

With a number of heads that is no power of two, the slopes are not those of the authors' code, which takes them from
the powers of two below and above. With 8 or 16 heads they are right.
"""

import torch
from attn_gym.mods import generate_alibi_bias

zero, one = torch.tensor(0.0), torch.tensor(1)
modify = generate_alibi_bias(12)
slopes = [-modify(zero, one, torch.tensor(h), one, one - 1).item() for h in range(12)]
print("attn-gym:", *(f"{slope:.3f}" for slope in slopes[:3]), "...", f"{slopes[8]:.3f}")
official = [2.0 ** -(h + 1) for h in range(8)] + [2.0 ** -(h + 0.5) for h in range(4)]  # slopes of 8, then of 16
print("official:", *(f"{slope:.3f}" for slope in official[:3]), "...", f"{official[8]:.3f}")
