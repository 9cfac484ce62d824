"""rotary-embedding-torch | xPos | cache

Scales are centered on half the number of tokens given: of one query in a cached step, of all keys beside it. The two
centers differ, and with them every score.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

torch.manual_seed(0)
q, k = torch.randn(2, 1, 1, 600, 64)
turned, keys = RotaryEmbedding(64, use_xpos=True).rotate_queries_and_keys(q, k)
last, cached = RotaryEmbedding(64, use_xpos=True).rotate_queries_with_cached_keys(q[..., -1:, :], k)
full, step = turned[..., -1:, :] @ keys.mT, last @ cached.mT
print(f"scores of the last query: off by {(step - full).abs().max() / full.abs().max():.0%} of the largest")
