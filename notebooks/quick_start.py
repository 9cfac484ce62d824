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
# # Quick start
#
# Which positional encoding should a transformer use, and why? Create one, put it into a model, compare two on a task,
# and read a comparison that comes with the program.

# %%
import tempfile

import torch

import ordinate
from ordinate.report.figures import figures
from ordinate.report.table import Column, Table
from ordinate.teaching.evidence import finished, score_table
from ordinate.teaching.in_notebook import show

# %% [markdown]
# ## Encodings
#
# All encodings share one interface; each says what it does past the trained length.

# %%
rows = []
for name in ordinate.encodings.names():
    about = ordinate.encodings.describe(name)
    rows.append((name, about["family"], about["extrapolation"], about["paper"]["year"] if about["paper"] else None))
columns = (
    Column("encoding", "encoding"),
    Column("family", "family"),
    Column("beyond", "beyond"),
    Column("year", "year"),
)
show(Table("encodings", f"{len(rows)} encodings", columns, rows))

# %% [markdown]
# ## In a model
#
# The model gets the encoding by its name, with parameters as on the command line.

# %%
config = ordinate.ModelConfig(vocabulary=16, encoding="rope(base=500)", dim=32, heads=4, layers=2, length=32)
model = ordinate.Transformer(config, seed=0).eval()
tokens = torch.randint(16, (2, 32))
logits = model(tokens)
moved = model(tokens, positions=torch.arange(1000, 1032))
print(logits.shape, "moved by 1000 positions:", float((logits - moved).abs().max()))
assert torch.allclose(logits, moved, atol=1e-2)

# %% [markdown]
# ## Compare two
#
# A look only: a small model, few steps, two seeds, no search for learning rates. What the comparison cannot say with
# so little it does not say.

# %%
with tempfile.TemporaryDirectory() as store:
    small = ordinate.compare(
        "k_back(k=1,vocabulary=4)", "rope,none", seeds=2, store=store, workers=0, lr=0.01, dim=16, heads=2, layers=1,
        steps=150, batch=16, train_lengths=[4, 8], ood_lengths=[16], evaluation_sequences=100,
    )  # fmt: skip
    print(small)
    show(score_table(small.analysis.tasks[0]), *figures(small)[:2])

# %% [markdown]
# ## A finished comparison
#
# Six encodings on `k_back` (recall the token three steps back), tuned rates, six seeds: read from the stored runs.

# %%
whole = finished("s4-k-back", "fair")
assert whole is not None
print(whole)
show(score_table(whole.analysis.tasks[0]), figures(whole)[0])

# %% [markdown]
# Next: `ordinate compare k_back --quick` on the command line, `ordinate app` for the pages, and the lessons.
