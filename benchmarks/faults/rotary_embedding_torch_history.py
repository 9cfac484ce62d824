"""rotary-embedding-torch | RoPE; xPos | history

The angles of a bfloat16 call are kept, and later float32 calls get them.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

torch.manual_seed(0)
q, rotary = torch.randn(1, 1, 2048, 64), RotaryEmbedding(64)
rotary.rotate_queries_or_keys(q.bfloat16())
after, fresh = rotary.rotate_queries_or_keys(q), RotaryEmbedding(64).rotate_queries_or_keys(q)
print(f"float32 after bfloat16: off by {(after - fresh).abs().max():.1f}")
