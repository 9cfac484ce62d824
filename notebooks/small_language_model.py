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
# # A small language model
#
# A transformer on the bytes of a module of Python's library: train, look at the loss by position, write. Real runs go
# through `ordinate lm prepare`, `train` and `eval`; this is the same model in a few seconds.

# %%
import torch

from ordinate import generate, preset
from ordinate.core.seeds import generator
from ordinate.lessons import language
from ordinate.model import Transformer
from ordinate.report.chart import Shade
from ordinate.teaching.charts import curves
from ordinate.teaching.in_notebook import show

# %% [markdown]
# ## Sizes
#
# The presets of language models; only the encoding differs between compared models.

# %%
with torch.device("meta"):
    for name in ("nano", "micro", "tiny", "small"):
        config = preset(name, encoding="rope")
        count = sum(weight.numel() for weight in Transformer(config).parameters())
        print(f"{name}: width {config.dim}, {config.layers} layers, {count:,} parameters")

# %% [markdown]
# ## Train
#
# The lesson on language models trains this model: 300 steps.

# %%
models = {name: language.trained(name) for name in ("rope", "alibi")}

# %% [markdown]
# ## Loss by position, to four times the trained length

# %%
bits = {name: language.bits_by_position(name).unfold(0, 9, 1).mean(dim=-1) for name in models}
show(
    curves("Bits per byte by position", "position", "bits per byte", bits, shade=Shade(0, language.TRAINED, "trained"))
)
for name in models:
    start, inside, beyond = language.parts(name)
    print(f"{name}: {start:.2f} at the first four positions, {inside:.2f} inside, {beyond:.2f} past the trained length")

# %% [markdown]
# ## Write

# %%
prompt = torch.tensor([list(b"def add_argument(self, ")])
for name, model in models.items():
    made = generate(model, prompt, 9, temperature=0.7, generator=generator(0, "notebook", "writing"))
    print(f"{name}: {bytes(made[0].tolist()).decode('ascii', 'replace')!r}")
