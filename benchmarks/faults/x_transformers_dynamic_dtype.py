"""x-transformers | dynamic position bias | moved; float64

Distances go into the trained layers as float32, whatever those are.
"""

import torch
from x_transformers import Decoder, TransformerWrapper

for dtype in (torch.float64, torch.bfloat16):
    layers = Decoder(dim=32, depth=1, heads=2, dynamic_pos_bias=True)
    model = TransformerWrapper(num_tokens=16, max_seq_len=32, attn_layers=layers).to(dtype)
    try:
        model(torch.ones(1, 8, dtype=torch.long))
    except RuntimeError as error:
        print(f"{dtype}: RuntimeError: {error}")
