"""x-transformers | CoPE | options

`cope_soft_onehot_pos=True` subtracts as if positions had one axis, where they have four.
"""

import torch
from x_transformers import Decoder, TransformerWrapper

layers = Decoder(dim=32, depth=1, heads=2, attn_use_cope=True, attn_cope_soft_onehot_pos=True)
model = TransformerWrapper(num_tokens=16, max_seq_len=32, attn_layers=layers)
try:
    model(torch.ones(1, 8, dtype=torch.long))
except Exception as error:
    print(f"{type(error).__name__}: {str(error).partition('.')[0]}")
