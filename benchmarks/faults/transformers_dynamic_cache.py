"""transformers | RoPE, dynamic NTK (Llama) | cache

Keys are turned before they are cached, and keep the angles of the length at that time; the query is turned by those
of the length now. The method asks for keys cached unturned. Shown with one layer, where that suffices.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
scaling = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}
sizes = dict(vocab_size=32, hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2)
config = LlamaConfig(**sizes, max_position_embeddings=16, rope_parameters=scaling, initializer_range=0.2)
model, tokens = LlamaForCausalLM(config).eval(), torch.randint(0, 32, (1, 64))
step = model(tokens[:, :15], use_cache=True)
for n in range(15, 64):
    step = model(tokens[:, n : n + 1], past_key_values=step.past_key_values)
print(f"logits of the last token: off by {(step.logits - model(tokens).logits[:, -1:]).abs().max():.2f}")
