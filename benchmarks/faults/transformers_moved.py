"""transformers | RoPE (Llama); RoPE, YaRN (Llama) | moved

Frequencies are a buffer, which `model.bfloat16()` rounds. (Loading with `dtype=torch.bfloat16`, as its documentation
recommends, keeps them in float32 and is right.)
"""

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

config = LlamaConfig(hidden_size=64, num_attention_heads=1, max_position_embeddings=8192)
at, x = torch.arange(4096)[None], torch.zeros(1, 1, 64)
exact, moved = LlamaRotaryEmbedding(config), LlamaRotaryEmbedding(config).bfloat16()
print(f"cosine off by {(moved(x, at)[0] - exact(x, at)[0]).abs().max():.1f}")
