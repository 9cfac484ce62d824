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
# # Compare on your own data
#
# Sequences with labels from a file, encodings in the same model, several seeds, and the statistics of a comparison.

# %%
import csv
import tempfile
from pathlib import Path

import torch
from torch.nn import functional as F

from ordinate import ModelConfig, Transformer
from ordinate.core.seeds import generator
from ordinate.report.terminal import by_score
from ordinate.statistics.analyze import analyze
from ordinate.statistics.observations import Observation
from ordinate.statistics.sentences import verdicts
from ordinate.teaching.evidence import score_table
from ordinate.teaching.in_notebook import show

# %% [markdown]
# ## The file
#
# Replace it by yours: one sequence of words and its label per line. Here: does the first `not` stand before the first
# `good`? Longer sequences are kept apart to see what holds past the trained length.

# %%
source = generator(0, "notebook", "own data")
path = Path(tempfile.mkdtemp()) / "own.csv"
WORDS = ["the", "film", "was", "very", "long", "and", "old"]


def sentence(length: int) -> tuple[str, int]:
    words = [WORDS[int(i)] for i in torch.randint(len(WORDS), (length,), generator=source)]
    first, second = torch.randperm(length, generator=source)[:2].tolist()
    words[first], words[second] = "not", "good"
    return " ".join(words), int(first < second)


with path.open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["sequence", "label"])
    rows.writerows(sentence(length) for length in [8] * 1500 + [16] * 300)
print(path.read_text()[:160])

# %% [markdown]
# ## Read, number the words, split
#
# The last fifth of the trained length is held out; the longer ones are only tested.

# %%
with path.open() as file:
    data = [(row["sequence"].split(), int(row["label"])) for row in csv.DictReader(file)]
vocabulary = {word: number for number, word in enumerate(sorted({word for words, _ in data for word in words}))}


def tensors(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    own = [(words, label) for words, label in data if len(words) == length]
    return torch.tensor([[vocabulary[w] for w in words] for words, _ in own]), torch.tensor([label for _, label in own])


(tokens, labels), longer = tensors(8), tensors(16)
cut = len(tokens) * 4 // 5
held_out = tokens[cut:], labels[cut:]

# %% [markdown]
# ## Train every encoding with the same seeds
#
# Only the encoding differs. Two seeds keep this notebook short; a claim needs six.

# %%
ENCODINGS, SEEDS, STEPS = ("none", "sinusoidal", "rope"), (1, 2), 120


def accuracy(model: Transformer, inputs: torch.Tensor, answers: torch.Tensor) -> float:
    with torch.inference_mode():
        return float((model(inputs).argmax(dim=-1) == answers).float().mean())


def train(encoding: str, seed: int) -> Transformer:
    config = ModelConfig(
        len(vocabulary),
        encoding,
        dim=32,
        heads=4,
        layers=2,
        length=8,
        dropout=0.0,
        causal=False,
        readout="mean",
        classes=2,
    )
    model, draw = Transformer(config, seed=seed), generator(seed, "notebook", "batches")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        rows = torch.randint(cut, (64,), generator=draw)
        loss = F.cross_entropy(model(tokens[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


observations = []
for encoding in ENCODINGS:
    for seed in SEEDS:
        model = train(encoding, seed)
        for split, length, test in (("id", 8, held_out), ("ood", 16, longer)):
            observations.append(
                Observation(
                    "not before good",
                    encoding,
                    seed,
                    split,
                    length,
                    accuracy(model, *test),
                    chance=0.5,
                    floor=0.5,
                    sequences=len(test[0]),
                )
            )

# %% [markdown]
# ## The statistics
#
# The same as `ordinate analyze RESULTS.csv` computes from a table of anybody's results.

# %%
analysis = analyze(observations)
print("\n".join(verdicts(analysis)))
show(score_table(analysis.tasks[0], by_score(analysis.tasks[0])))
