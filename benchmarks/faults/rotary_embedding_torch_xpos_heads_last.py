"""rotary-embedding-torch | xPos | options

With `seq_before_head_dim=True`, cached keys get scales along the heads in place of the sequence.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

rotary = RotaryEmbedding(32, use_xpos=True, seq_before_head_dim=True)
q, k = torch.zeros(1, 1, 2, 64), torch.zeros(1, 8, 2, 64)  # batch, tokens, heads, channels
try:
    rotary.rotate_queries_with_cached_keys(q, k)
except RuntimeError as error:
    print(f"RuntimeError: {error}")
