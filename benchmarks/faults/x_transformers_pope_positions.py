"""x-transformers | PoPE | positions

Angles of several sequences, [b, n, d], are multiplied with queries [b, h, n, d] as if b were h. It raises, or, with
as many sequences as heads, gives each head the positions of another sequence.
"""

import torch
from x_transformers import Decoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=32, depth=1, heads=2, attn_dim_head=16, polar_pos_emb=True)
model = TransformerWrapper(num_tokens=16, max_seq_len=64, attn_layers=layers).eval()
tokens, rows = torch.randint(0, 16, (2, 8)), torch.stack((torch.arange(8), torch.arange(8) * 5))
both, first = model(tokens, pos=rows), model(tokens[:1], pos=rows[0])
print(f"the first sequence, beside one at other positions: off by {(both[:1] - first).abs().max():.2f}")
