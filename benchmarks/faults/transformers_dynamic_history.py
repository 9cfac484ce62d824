"""transformers | RoPE, dynamic NTK (Llama) | history

Frequencies grow with the longest sequence seen and are only set back below the original length: a sequence between
the two is turned by those of a longer one.
"""

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

scaling = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}
config = LlamaConfig(hidden_size=64, num_attention_heads=1, max_position_embeddings=16, rope_parameters=scaling)
rotary, x, at = LlamaRotaryEmbedding(config), torch.zeros(1, 1, 64), torch.arange(64)[None]
before = rotary(x, at)[0]
rotary(x, torch.arange(1024)[None])
print(f"cosine, after a longer sequence: off by {(rotary(x, at)[0] - before).abs().max():.1f}")
