"""x-transformers | sinusoidal, scaled | positions; padding

`ScaledSinusoidalEmbedding` multiplies a row of positions by frequencies. Positions of several sequences, which left
padding makes (`prompt_lens` in `generate`), are no row.
"""

import torch
from x_transformers import Decoder, TransformerWrapper

layers = Decoder(dim=32, depth=1, heads=2)
model = TransformerWrapper(num_tokens=16, max_seq_len=32, attn_layers=layers, scaled_sinu_pos_emb=True)
tokens = torch.ones(2, 8, dtype=torch.long)
for given in ({"pos": torch.arange(8).expand(2, 8)}, {"seq_start_pos": torch.tensor([0, 3])}):
    try:
        model(tokens, **given)
    except RuntimeError as error:
        print(f"{next(iter(given))}: RuntimeError: {str(error)[:60]} ...")
