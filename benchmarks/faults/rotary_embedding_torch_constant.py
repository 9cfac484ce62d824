"""rotary-embedding-torch | RoPE | options

`freqs_for="constant"` cannot be used with the method that the README shows: the table set aside for angles is as wide
as `dim`, the angles are not.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

try:
    RotaryEmbedding(32, freqs_for="constant").rotate_queries_or_keys(torch.zeros(1, 1, 8, 64))
except RuntimeError as error:
    print(f"RuntimeError: {str(error).partition('.')[0]}")
