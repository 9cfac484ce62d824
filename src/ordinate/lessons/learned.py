"""Static against learnable: both modules from nothing, trained side by side, and segments beside positions."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate import encodings, tasks
from ordinate.core.positions import Positions
from ordinate.core.seeds import generator
from ordinate.core.task import UNSCORED
from ordinate.teaching import evidence
from ordinate.teaching.charts import curves, heat, table
from ordinate.teaching.lesson import (
    Evidence,
    Exercise,
    Explore,
    FurtherReading,
    Lesson,
    Picker,
    Predict,
    Prose,
    Revealed,
    Shown,
    Slider,
)

TRAINED, ROWS, DIM, VOCABULARY = 16, 64, 32, 8
MOST_STEPS = 240


class StaticPositions(nn.Module):
    """Sines and cosines, computed once: nothing to train."""

    table: Tensor

    def __init__(self, dim: int, rows: int, size: float, dropout: float = 0.0) -> None:
        super().__init__()
        angles = torch.arange(rows)[:, None] * 10_000 ** (-torch.arange(0, dim, 2) / dim)
        table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        self.register_buffer("table", table * size / table.square().mean().sqrt(), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        out: Tensor = self.dropout(x + self.table[: x.shape[1]])
        return out


class LearnablePositions(nn.Module):
    """A row for each position, longer than the longest sequence, and trained with the rest of the model."""

    def __init__(self, dim: int, rows: int, size: float, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, dim) * size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        out: Tensor = self.dropout(x + self.table[: x.shape[1]])
        return out


class TinyModel(nn.Module):
    """Embedding, positions, one layer of causal attention and a feed-forward layer, in plain PyTorch."""

    def __init__(self, positions: "StaticPositions | LearnablePositions") -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        nn.init.normal_(self.embedding.weight, std=DIM**-0.5)
        self.positions = positions
        self.layer = nn.TransformerEncoderLayer(DIM, 4, 4 * DIM, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(DIM, VOCABULARY)

    def forward(self, tokens: Int[Tensor, "b n"]) -> Float[Tensor, "b n v"]:
        x = self.positions(self.embedding(tokens))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        logits: Tensor = self.head(self.layer(x, src_mask=mask, is_causal=True))
        return logits


KINDS: dict[str, Callable[..., StaticPositions | LearnablePositions]] = {
    "static": StaticPositions,
    "learnable": LearnablePositions,
}


@cache
def trained(kind: str) -> dict[str, Any]:
    """Train on `k_back` with k = 1: losses, the scores by length every 40 steps, and the table before and after."""
    torch_state = torch.get_rng_state()
    torch.manual_seed(0)
    model = TinyModel(KINDS[kind](DIM, ROWS, size=DIM**-0.5))
    torch.set_rng_state(torch_state)
    task = tasks.create("k_back", k=1, vocabulary=VOCABULARY)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    source, test = generator(0, "lesson", "training"), generator(0, "lesson", "testing")
    held_out = {length: task.sample(50, length, test) for length in (TRAINED, 2 * TRAINED, 4 * TRAINED)}
    before = model.positions.table.detach().clone()
    found: dict[str, Any] = {"loss": [], "scores": {}, "before": before}
    for step in range(MOST_STEPS + 1):
        if step % 40 == 0:
            found["scores"][step] = {length: accuracy(model, batch) for length, batch in held_out.items()}
        batch = task.sample(32, TRAINED, source)
        loss = F.cross_entropy(model(batch.tokens).flatten(0, 1), batch.targets.flatten(), ignore_index=UNSCORED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found["loss"].append(loss.item())
    return found | {"after": model.positions.table.detach().clone()}


def accuracy(model: nn.Module, batch: Any) -> float:
    """The share of scored answers that are right."""
    with torch.no_grad():
        right = model(batch.tokens).argmax(dim=-1) == batch.targets
    return float(right[batch.targets != UNSCORED].float().mean())


def show_training(steps: int) -> Shown:
    found = {kind: trained(kind) for kind in KINDS}
    losses = {kind: own["loss"][: steps + 1 : 2] for kind, own in found.items()}
    drawn = curves("Training loss", "step", "cross-entropy", losses, x=range(0, steps + 1, 2))
    rows = [(kind, *own["scores"][steps].values()) for kind, own in found.items()]
    lengths = (TRAINED, 2 * TRAINED, 4 * TRAINED)
    columns = {"module": ""} | {f"length {length} ({length // TRAINED}x)": ".3f" for length in lengths}
    ends = {kind: own["scores"][steps] for kind, own in found.items()}
    words = (
        f"After {steps} steps on sequences of {TRAINED} tokens: static {ends['static'][TRAINED]:.2f}, learnable "
        f"{ends['learnable'][TRAINED]:.2f} at that length, and {ends['static'][4 * TRAINED]:.2f} and "
        f"{ends['learnable'][4 * TRAINED]:.2f} at four times that length (chance {1 / VOCABULARY:.3f}). **One seed** "
        "of a tiny model: a demonstration; a finding needs what stands under *Stored runs*."
    )
    return Shown(words, (drawn,), (table("Accuracy on new sequences: recall the token before", columns, rows),))


def answer_rows() -> Revealed:
    own = trained("learnable")
    moved = (own["after"] - own["before"]).norm(dim=-1)
    drawn = curves("How far each row moved", "position", "distance from where it started", {"rows": moved})
    used, unused = float(moved[:TRAINED].mean()), float(moved[TRAINED:].max())
    words = (
        f"Rows 0 to {TRAINED - 1} moved by {used:.2f} on average, rows {TRAINED} to {ROWS - 1} by {unused:.1g}: no "
        "gradient ever reached them. The table is long enough for longer sequences and knows nothing about them. "
        "Ordinate calls that *untrained* and shows it as a badge."
    )
    return Revealed(0 if unused == 0 else 1, Shown(words, (drawn,)))


def show_segments(segments: str) -> Shown:
    words_ = ("[CLS]", "my", "dog", "[SEP]", "he", "barks", "[SEP]")
    parts = torch.tensor([[0, 0, 0, 0, 1, 1, 1]])
    made = encodings.create("segment", dim=DIM, heads=1, length=16, token_size=0.5)
    positions = encodings.create("learned", dim=DIM, heads=1, length=16, token_size=0.5)
    where = Positions(torch.arange(7).view(1, 7, 1), segments=parts, first=0)
    with torch.no_grad():
        added = positions.embed(torch.zeros(1, 7, DIM), where)
        if segments == "with segments":
            added = made.embed(added, where)
    unit = F.normalize(added[0], dim=-1)
    same = parts[0][:, None] == parts[0][None]
    off = ~torch.eye(7, dtype=torch.bool)
    cosine = unit @ unit.T
    near, far = float(cosine[same & off].mean()), float(cosine[~same].mean())
    drawn = heat(
        "Cosine of what is added to each token", "", "", {"": cosine}, rows=words_, columns=words_, row_height=260,
        square=True, value="cosine",
    )  # fmt: skip
    words = (
        f"Mean cosine of what is added to two tokens of the same sentence: **{near:.2f}**, of different sentences: "
        f"**{far:.2f}**. A segment is one of two learned vectors, added beside the position's: BERT sums token + "
        "position + segment. In Ordinate: `segment+learned`."
    )
    return Shown(words, (drawn,))


def stored() -> Shown:
    fair = evidence.scores("s4-k-back", "fair", ("sinusoidal", "learned"), picture=False)
    markers = evidence.scores("s0-markers", "as stated, layers=1", picture=False)
    words = (
        f"On `k_back` both learn the trained lengths; beyond them the learned table has nothing, and the static one "
        f"something that was never trained. On `markers`, by loss (lower is better): {markers.sentence}"
    )
    return Shown(words, tables=(*fair.tables, *markers.tables))


def check_module(module: Callable[[int, int], nn.Module]) -> str:
    made = module(10, 4)
    if not isinstance(made, nn.Module):
        return "LearnedPositions must be an nn.Module: write `class LearnedPositions(nn.Module)`."
    weights = list(made.parameters())
    if not weights:
        return "`parameters()` is empty, so no optimizer would ever change the table: it must be an nn.Parameter."
    if tuple(weights[0].shape) != (10, 4):
        return f"The table must have a row per position: (10, 4) for rows=10 and dim=4, got {tuple(weights[0].shape)}."
    x = torch.randn(2, 6, 4, generator=generator(4, "lesson", "check"))
    made.eval()
    if not torch.allclose(made(x), x + weights[0][:6], atol=1e-5):
        return "The output must be x plus rows 0 to 5 of the table, for a sequence of 6 tokens (in eval mode)."
    made(x).sum().backward()
    if weights[0].grad is None or not weights[0].grad[:6].any():
        return "No gradient reaches the table: do not detach it, and do not add it inside no_grad."
    try:
        made(torch.zeros(1, 11, 4))
    except (ValueError, IndexError):
        return ""
    except RuntimeError:
        return "A sequence of 11 tokens ends in an error about shapes: raise a ValueError that names both lengths."
    return "A sequence of 11 tokens passes through a table of 10 rows: refuse it with a ValueError."


def check_dropout(add: Callable[[Tensor, Tensor, bool], Tensor]) -> str:
    x, table_ = torch.ones(4, 8, 16), torch.ones(8, 16)
    if not torch.equal(add(x, table_, False), x + table_):
        dropped = float((add(x, table_, False) == 0).float().mean())
        return (
            f"In evaluation (training=False) {100 * dropped:.0f} % of the values are 0: the same sentence gets another "
            "score each time. Dropout belongs to training."
        )
    if not (add(x, table_, True) == 0).any():
        return "In training nothing is dropped any more: keep the dropout there."
    return ""


LESSON = Lesson(
    number=3,
    title="Static against learnable",
    question="Compute the table, or learn it?",
    goals=(
        "write both modules in PyTorch from nothing",
        "say what becomes of the rows of a table that training never reached",
        "add segments beside positions, as BERT does",
    ),
    blocks=(
        Prose(
            "Both modules add a row of a table to each token. One computes the table, the other trains it. Both have "
            "a table **longer than the longest sequence** and dropout on the sum.",
            inspect.getsource(StaticPositions) + "\n\n" + inspect.getsource(LearnablePositions),
        ),
        Explore(
            "training",
            "Both are trained right here in the same model on the same sequences (a few seconds, once): recall the "
            "token before. Move through the training.",
            (Slider("steps", "Steps", 0, MOST_STEPS, MOST_STEPS, 40),),
            show_training,
        ),
        Predict(
            "rows",
            f"The learnable table has {ROWS} rows and training showed sequences of {TRAINED} tokens. What happened to "
            f"rows {TRAINED} to {ROWS - 1}?",
            ("nothing at all", "they moved along with the others"),
            answer_rows,
        ),
        Evidence("stored", "Which is better in trained models, with six seeds each?", stored),
        Explore(
            "segments",
            "Two sentences in one sequence, as BERT reads them.",
            (Picker("segments", "Added", ("positions alone", "with segments"), "positions alone"),),
            show_segments,
        ),
        Exercise(
            "module",
            "Write `LearnedPositions(rows, dim)`, an `nn.Module` that adds row p of a trained table to token p of "
            "x [b, n, dim], and refuses a sequence that is longer than its table with a `ValueError`.",
            "LearnedPositions",
            (
                "import torch\nfrom torch import nn\n\n\nclass LearnedPositions(nn.Module):\n"
                "    def __init__(self, rows, dim):\n        super().__init__()\n        ...\n\n"
                "    def forward(self, x):\n        ...\n"
            ),
            check_module,
            solution=(
                "import torch\nfrom torch import nn\n\n\nclass LearnedPositions(nn.Module):\n"
                "    def __init__(self, rows, dim):\n        super().__init__()\n"
                "        self.table = nn.Parameter(torch.randn(rows, dim) * 0.02)\n\n"
                "    def forward(self, x):\n        n, rows = x.shape[1], len(self.table)\n"
                "        if n > rows:\n"
                '            raise ValueError(f"{n} tokens, but the table has {rows} rows")\n'
                "        return x + self.table[:n]\n"
            ),
            wrong=(
                "import torch\nfrom torch import nn\n\n\nclass LearnedPositions(nn.Module):\n"
                "    def __init__(self, rows, dim):\n        super().__init__()\n"
                "        self.table = torch.randn(rows, dim) * 0.02\n\n"
                "    def forward(self, x):\n        return x + self.table[: x.shape[1]]\n"
            ),
            hint="A plain tensor is invisible to the optimizer.",
        ),
        Exercise(
            "dropout",
            "**Find the bug.** The same sentence gets another score each time it is evaluated.",
            "add_positions",
            (
                "from torch.nn import functional as F\n\n\ndef add_positions(x, table, training):\n"
                "    return F.dropout(x + table[: x.shape[1]], 0.1)\n"
            ),
            check_dropout,
            solution=(
                "from torch.nn import functional as F\n\n\ndef add_positions(x, table, training):\n"
                "    return F.dropout(x + table[: x.shape[1]], 0.1, training)\n"
            ),
            kind="debug",
            hint="What is the default of the third argument of F.dropout?",
        ),
    ),
    reading=(
        FurtherReading("Gehring et al. 2017", "1705.03122", "learned positions, before the transformer"),
        FurtherReading("Devlin et al. 2018", "1810.04805", "figure 2: token, segment and position embeddings"),
        FurtherReading("Press et al. 2021", "2108.12409", "what sines do past the trained length"),
    ),
)
