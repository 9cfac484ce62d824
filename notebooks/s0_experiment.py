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
# # The S0 experiment: markers by depth and epochs
#
# Five encodings (sinusoidal, sininit, learned, RoPE, LRoPE) on sequences with markers and progressions, at depth 1, 4
# and 16 and after 1, 4 and 16 epochs; the score is the average test loss. The dataset and one training run are made
# here; the grid is read from stored runs, six seeds each. Parts that were not run yet are named.

# %%
import torch

from ordinate import ModelConfig, Transformer, tasks
from ordinate.core.seeds import generator
from ordinate.core.task import UNSCORED
from ordinate.report.study_report import figures, words
from ordinate.report.study_tables import tables
from ordinate.report.table import Column, Table
from ordinate.store.examples import open_examples
from ordinate.studies import study_file
from ordinate.studies.study_outcome import study_outcome
from ordinate.teaching.charts import curves
from ordinate.teaching.in_notebook import show

EPOCHS = {1: "loss@63", 4: "loss@252", 16: "loss@1008"}

# %% [markdown]
# ## The data
#
# A start marker, part of a progression, a middle marker, its continuation, an end marker, padding: the same number
# plays different roles by its position alone.

# %%
task = tasks.create("markers")
batch = task.sample(5, 32, generator(0, "notebook", "markers"))
for tokens in batch.tokens:
    print(" ".join(task.word(int(token)) for token in tokens))

# %% [markdown]
# ## One training run, small
#
# Depth 1 with the learned table, 60 steps of the 1,008.

# %%
model = Transformer(
    ModelConfig(task.vocabulary, "learned", dim=64, heads=4, layers=1, length=32, dropout=0.0, classes=task.classes)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data, losses = generator(0, "notebook", "training"), []
for _ in range(60):
    batch = task.sample(64, 32, data)
    logits = model(batch.tokens)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=UNSCORED)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
show(curves("Training loss", "step", "cross-entropy", {"learned": losses}))

# %% [markdown]
# ## The grid, from stored runs

# %%
study = study_file.load("s0-markers")
outcome = study_outcome(study, [open_examples()])
rows = []
for part in outcome.parts:
    depth = part.part.settings["layers"]
    for encoding in part.part.encodings:
        for epochs, measure in EPOCHS.items():
            values = part.measured(encoding, measure) if part.finished else ()
            mean = sum(values) / len(values) if values else None
            rows.append((depth, epochs, encoding, mean, len(values)))
columns = ("depth", "epochs", "encoding", "average test loss", "seeds")
forms = {"average test loss": ".3f"}
show(Table("grid", "The grid", tuple(Column(name, name, forms.get(name, "")) for name in columns), rows))
missing = [part.part.name for part in outcome.parts if not part.finished]
show("**Not run yet:** " + ", ".join(missing) + ". `ordinate study run s0-markers` runs them." if missing else
     "All parts were run.")  # fmt: skip

# %% [markdown]
# ## Loss by epochs, at each depth

# %%
for part in outcome.parts:
    if not part.finished:
        show(f"*{part.part.name}*: not run yet.")
        continue
    means = {
        name: [sum(values) / len(values) for m in EPOCHS.values() if (values := part.measured(name, m))]
        for name in part.part.encodings
    }
    show(curves(f"Test loss, {part.part.name}", "epochs", "average test loss", means, x=list(EPOCHS), look="mean",
                log_x=True))  # fmt: skip

# %% [markdown]
# ## Loss by depth after 16 epochs, and the interaction of depth and epochs

# %%
done = [part for part in outcome.parts if part.finished]
if len(done) > 1:
    by_depth = {
        name: [sum(values) / len(values) for part in done if (values := part.measured(name, "loss@1008"))]
        for name in done[0].part.encodings
    }
    depths = [part.part.settings["layers"] for part in done]
    show(curves("Test loss by depth", "depth", "average test loss", by_depth, x=depths, look="mean", log_x=True))
    for name, found in outcome.interactions().items():
        print(name, found)
else:
    show("The interaction needs at least two depths: it is computed here as soon as they were run.")

# %% [markdown]
# ## What holds of the published claims

# %%
show(*(f"- {line}" for line in words(outcome) if not line.startswith("Still to be run")))
show(*tables(outcome), *figures(outcome))
