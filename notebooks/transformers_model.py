# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Use an encoding in your transformers model
#
# Any encoding inside a model of Hugging Face's transformers, without changing the model's code. A small Llama with
# random weights stands for yours.

# %%
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import ordinate

config = LlamaConfig(
    vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=32, pad_token_id=0, eos_token_id=None,
)  # fmt: skip

# %% [markdown]
# ## The model's own rotation, attached, changes nothing

# %%
plain = LlamaForCausalLM(config).eval()
prompt = torch.randint(1, 100, (2, 10))
expected = plain(prompt).logits
ordinate.attach_hf(plain, ordinate.from_hf(plain.config))
assert torch.allclose(plain(prompt).logits, expected, atol=1e-4)
print("largest difference:", float((plain(prompt).logits - expected).detach().abs().max()))

# %% [markdown]
# ## Another encoding: T5's bias in place of rotations

# %%
model = LlamaForCausalLM(config)
ordinate.attach_hf(model, "t5(buckets=16)")
text = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, do_sample=False)
print("generated", tuple(text.shape))

# %% [markdown]
# It trains with the model:

# %%
loss = model(prompt, labels=prompt).loss
loss.backward()
trained = {
    name: float(w.grad.norm()) for name, w in model.named_parameters() if w.grad is not None and "layers" not in name
}
print(loss.item(), trained)

# %% [markdown]
# ## Save and load

# %%
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = ordinate.load_hf(folder)
    assert torch.equal(again(prompt).logits, model.eval()(prompt).logits)
print("the same logits after loading")
