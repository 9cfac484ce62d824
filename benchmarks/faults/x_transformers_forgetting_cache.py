"""x-transformers | FoX (data-dependent ALiBi) | cache

In a cached step the forget gates of the new token alone are known, so its bias against all earlier keys is 0.
"""

import torch
from x_transformers import Decoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=64, depth=2, heads=4, attn_data_dependent_alibi=True)
model = TransformerWrapper(num_tokens=32, max_seq_len=64, use_abs_pos_emb=False, attn_layers=layers).eval()
tokens = torch.randint(0, 32, (1, 24))
_, cache = model(tokens[:, :-1], return_intermediates=True)
step, full = model(tokens, cache=cache)[:, -1], model(tokens)[:, -1]
print(f"logits of the last token: off by {(step - full).abs().max():.3f}")
