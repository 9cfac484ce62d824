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
# # Encodings by hand
#
# Four encodings from nothing in a few lines each, checked against the ones of the package.

# %%
import torch

import ordinate
from ordinate.core.positions import AttentionContext, Positions
from ordinate.teaching.charts import curves, heat
from ordinate.teaching.in_notebook import show

n, dim, heads = 24, 32, 4
positions = Positions.range(n)
x = torch.randn(1, n, dim)

# %% [markdown]
# ## Sines and cosines, added

# %%
angles = torch.arange(n)[:, None] * 10_000 ** (-torch.arange(0, dim, 2) / dim)
by_hand = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
sinusoidal = ordinate.encodings.create("sinusoidal", dim=dim, heads=heads, length=n)
assert torch.allclose(sinusoidal.embed(x, positions), x + by_hand, atol=1e-5)
names = [str(p) for p in range(n)]
show(heat("Sines and cosines", "channel", "position", {"": by_hand}, rows=names, row_height=300))

# %% [markdown]
# ## A learned table, added

# %%
learned = ordinate.encodings.create("learned", dim=dim, heads=heads, length=n)
(table,) = learned.parameters()
assert torch.allclose(learned.embed(x, positions), x + table[:n], atol=1e-6)
print("rows and channels:", tuple(table.shape), "trained:", table.requires_grad)

# %% [markdown]
# ## Rotations of queries and keys
#
# Pair k of a head is turned by position * base^(-2k/e): the score of two tokens then depends on their distance.

# %%
width = dim // heads
q, k = torch.randn(2, 1, heads, n, width)


def turn(x: torch.Tensor) -> torch.Tensor:
    angle = torch.arange(n)[:, None] * 10_000 ** (-torch.arange(0, width, 2) / width)
    one, two = x.chunk(2, dim=-1)
    return torch.cat((one * angle.cos() - two * angle.sin(), one * angle.sin() + two * angle.cos()), dim=-1)


rope = ordinate.encodings.create("rope", dim=dim, heads=heads, length=n)
state = rope.prepare(positions)
assert torch.allclose(rope.rotate(q, state, "q"), turn(q), atol=1e-5)
later = rope.prepare(Positions.range(n, start=100))
scores = rope.rotate(q, state, "q") @ rope.rotate(k, state, "k").mT
moved = rope.rotate(q, later, "q") @ rope.rotate(k, later, "k").mT
print("all tokens moved by 100 positions, scores change by", float((scores - moved).abs().max()))
assert torch.allclose(scores, moved, atol=1e-3)

# %% [markdown]
# ## A bias by distance

# %%
slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
at = torch.arange(n)
bias_by_hand = -slopes[:, None, None] * (at[:, None] - at[None])
alibi = ordinate.encodings.create("alibi", dim=dim, heads=heads, length=n)
bias = alibi.bias(AttentionContext.self_attention(positions))[0]
seen = torch.ones(n, n).tril().bool()
assert torch.allclose(bias[:, seen], bias_by_hand[:, seen], atol=1e-5)
show(curves("ALiBi by distance", "distance", "bias", {f"head {h + 1}": bias[h, -1].flip(0) for h in range(heads)}))

# %% [markdown]
# All 49 have such a page in the app (`ordinate app`, Encodings) and on the terminal (`ordinate show rope`).
