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
# # The S1 experiment: value at position
#
# Learnable methods for self-attention: learned absolute, relative bias, T5 bias, continuous MLP, sinusoidal and none,
# and what was planned there: RoPE, ALiBi, Fourier features, longer sequences. The class follows from two values at two
# positions. The data are made here, the comparison is read from stored runs, and parts that were not run are named.

# %%
from collections import Counter

from ordinate import tasks
from ordinate.core.seeds import generator
from ordinate.report.study_report import figures, words
from ordinate.report.study_tables import tables
from ordinate.store.examples import open_examples
from ordinate.studies import study_file
from ordinate.studies.study_outcome import study_outcome
from ordinate.teaching import evidence
from ordinate.teaching.in_notebook import show

# %% [markdown]
# ## The data, as stated and balanced
#
# As stated, the values of a class occur more often in its own sequences: counting tokens gives a part of the answer
# away. Balanced, every class has the same counts.

# %%
for name in ("value_at_position(balanced=false)", "value_at_position"):
    _, task = tasks.parse(name)
    batch = task.sample(600, 32, generator(0, "notebook", "values"))
    fives = [int((tokens == 5).sum()) for tokens in batch.tokens]
    by_class = {c: [n for n, target in zip(fives, batch.targets, strict=True) if int(target) == c] for c in range(3)}
    print(name, {c: f"{sum(own) / len(own):.2f} fives per sequence" for c, own in by_class.items()})
    print("  classes:", dict(Counter(batch.targets.tolist())))

# %% [markdown]
# ## What was found

# %%
outcome = study_outcome(study_file.load("s1-value-at-position"), [open_examples()])
missing = [part.part.name for part in outcome.parts if not part.finished]
if missing:
    show(f"**Not run yet:** {', '.join(missing)}. `ordinate study run s1-value-at-position` runs them.")
show(*(f"- {line}" for line in words(outcome) if not line.startswith("Still to be run")))

# %% [markdown]
# ## Published against measured, the matrix of methods, and all scores

# %%
show(*tables(outcome))

# %% [markdown]
# ## Accuracy by length, and learning curves

# %%
show(*figures(outcome))

# %% [markdown]
# ## Two dimensions, planned there

# %%
show(evidence.scores("image-2d", "more encodings"))
