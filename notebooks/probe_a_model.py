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
# # Probe a model
#
# What an encoding does before any training, and what a trained model made of it.

# %%
import tempfile

from ordinate import open_store
from ordinate.probes.encoding_probe import probe_encoding
from ordinate.probes.run_probe import probe_run
from ordinate.report.probe_figures import encoding_probe_figures, run_probe_figures
from ordinate.report.table import Column, Table
from ordinate.teaching.in_notebook import show
from ordinate.training import resolve, train

# %% [markdown]
# ## The encoding alone

# %%
for name in ("sinusoidal", "rope"):
    probe = probe_encoding(name)
    if probe.vectors is not None:
        shifts = probe.vectors.shift_residual
        print(f"{name}: error of one linear map for a shift: { {r: float(f'{e:.2g}') for r, e in shifts.items()} }")
    if probe.scores is not None and probe.scores.equal.mean_ends:
        near, far = probe.scores.equal.mean_ends
        print(f"{name}: mean score of equal contents {near:.2f} near, {far:.2f} far")
    show(*encoding_probe_figures(probe)[:2])

# %% [markdown]
# ## A model, trained here
#
# Recall the token before, a small model, a few seconds.

# %%
config = resolve(
    dict(
        task="k_back(k=1,vocabulary=8)",
        encoding="rope",
        dim=32,
        heads=2,
        layers=2,
        steps=250,
        lr=0.01,
        batch=32,
        train_lengths=[4, 12],
        ood_lengths=[24],
        evaluation_sequences=200,
        budget="fixed",
        dropout=0.0,
        seed=1,
    )
)
run = train(config, open_store(tempfile.mkdtemp()))
print({f"{row.split} {row.length}": round(row.score, 3) for row in run.result.evaluation})

# %% [markdown]
# ## What its heads do, what its layers hold, and what happens without them

# %%
probe = probe_run(run, sequences=64)
rows = [(f"L{head.layer} H{head.head}", head.role, head.offset) for head in probe.heads]
show(Table("heads", "Heads", (Column("head", "head"), Column("role", "role"), Column("offset", "offset")), rows))
layers = [(own.depth, own.untrained.position, own.trained.position, own.trained.effective_rank) for own in probe.layers]
columns = tuple(Column(name, name, ".2f") for name in ("depth", "position, untrained", "position, trained", "rank"))
show(Table("layers", "What a linear reader finds", columns, layers))
show(*run_probe_figures(probe))
