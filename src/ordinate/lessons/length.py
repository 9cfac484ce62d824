"""Past the trained length: what each encoding does there, how far it holds, scalings, and coverage of positions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ordinate import encodings
from ordinate.core.coverage import draw
from ordinate.core.encoding import EXTRAPOLATION
from ordinate.core.positions import Positions
from ordinate.core.seeds import generator
from ordinate.report.overview import shipped_overview
from ordinate.statistics.length_curve import Point, crossing
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

TRAINED, WIDTH = 64, 64
LENGTHS, SCORES = (32, 40, 48, 64, 96, 128), (1.0, 0.99, 0.97, 0.83, 0.6, 0.4)


def show_policies(policy: str) -> Shown:
    """Which encodings declare it, each asked with its defaults."""
    every = {name: encodings.example(name).extrapolation for name in encodings.names()}
    own = [name for name, declared in every.items() if declared == policy]
    words = (
        f"**{policy}**: {EXTRAPOLATION[policy]}. {len(own)} of {len(every)} encodings say so of themselves "  # type: ignore[index]
        f"(with their defaults): {', '.join(f'`{name}`' for name in own)}."
    )
    return Shown(words)


def answer_reach() -> Revealed:
    cells = {row.task: (row.cells["rope"], row) for row in shipped_overview() if "rope" in row.cells}
    known = {task: cell for task, (cell, _) in cells.items() if cell.reach is not None}
    holds = [task for task, cell in known.items() if cell.reach and cell.reach >= 4]
    rows = [
        (task, f"{cell.learned} of {cell.seeds}", f"{cell.reach:.2f}x{'+' * cell.at_least}")
        for task, cell in known.items()
    ]
    words = (
        f"Of {len(known)} tasks that most seeds learned with RoPE, it holds to four times the trained length on "
        f"**{len(holds)}**: {', '.join(holds) or 'none'}. Distances past the trained ones are new to the model, and "
        "pairs that turn slowly meet angles that training never showed. That nothing refuses a longer text does not "
        "mean that the model can read it."
    )
    columns = {"task": "", "seeds that learned it": "", "holds to (median)": ""}
    right = 0 if len(holds) == len(known) else 1 if holds else 2
    return Revealed(right, Shown(words, tables=(table("RoPE on every shipped task", columns, rows),)))


def turns(scaling: str, factor: float, length: int) -> Tensor:
    """How often each pair has turned at the last position of a text of this length."""
    given: dict[str, Any] = {} if scaling == "none" else {"scaling": scaling, "factor": factor}
    made: Any = encodings.create("rope", dim=WIDTH, heads=1, length=TRAINED, **given)
    theta, _ = made.theta(Positions.range(length))
    found: Tensor = theta.reshape(-1, WIDTH // 2)[0] * (length - 1) / (2 * torch.pi)
    return found


def show_scaling(scaling: str, factor: float) -> Shown:
    length = int(TRAINED * factor)
    seen = turns("none", 1.0, TRAINED)
    far = turns(scaling, factor, length)
    unseen = (seen < 1) & (far > seen * 1.001)
    step = turns(scaling, factor, length)[0] / (length - 1) / (turns("none", 1.0, TRAINED)[0] / (TRAINED - 1))
    drawn = curves(
        "Turns of each pair at the end of the text", "pair, from fast to slow", "log10 of turns",
        {f"trained, {TRAINED} tokens": seen.log10(), f"{length} tokens, {scaling}": far.log10()},
    )  # fmt: skip
    words = (
        f"At {length} tokens with scaling *{scaling}*, **{int(unseen.sum())} of {WIDTH // 2}** pairs reach angles that "
        f"training never showed (they had not completed a turn). The fastest pair turns {float(step):.2f} times as "
        "far per token as in training: below 1, neighbors are harder to tell apart."
    )
    return Shown(words, (drawn,))


def show_coverage(coverage: str, limit: int) -> Shown:
    """Which position ids training shows, over 200 sequences of up to 32 tokens."""
    source = generator(0, "lesson", "coverage")
    ids = draw(coverage, sides=(32,), limit=limit, generator=source, rows=200)[..., 0]
    seen = torch.bincount(ids.flatten(), minlength=128)
    largest = torch.bincount((ids[:, -1] - ids[:, 0]).flatten(), minlength=128).nonzero().max()
    drawn = heat(
        "Positions of ten sequences", "token", "sequence", {"": ids[:10].float()},
        rows=[str(n + 1) for n in range(10)],
        columns=["" if at % 8 else str(at) for at in range(32)], signed=False, value="position", row_height=200,
        most=128,
    )  # fmt: skip
    counts = curves("How often each position is trained", "position", "times", {"seen": seen.float()})
    words = (
        f"Coverage *{coverage}* with ids below {limit}: **{int((seen > 0).sum())}** of 128 positions are trained, and "
        f"distances up to **{int(largest)}**. Evaluation on 64 tokens needs positions 0 to 63 and distances to 63."
    )
    return Shown(words, (drawn, counts), across=2)


def stored() -> Shown:
    found = {
        name: evidence.scores("coverage", f"k_back, coverage={name}") for name in ("plain", "offset", "randomized")
    }
    words = [f"*{name}*: {shown.sentence}" for name, shown in found.items()]
    tables = [replace(own, title=f"{own.title}, {name}") for name, shown in found.items() for own in shown.tables]
    figures = [replace(own, title=f"{own.title}, {name}") for name, shown in found.items() for own in shown.figures]
    return Shown("\n\n".join(words), tuple(figures), tuple(tables))


def check_reach(reach: Callable[[list[int], list[float], float], float]) -> str:
    given = reach([32, 64], [1.0, 0.9], 0.95)
    if not isinstance(given, int | float):
        return f"reach must return a number, got {type(given).__name__}."
    if abs(given - 48) < 0.01:
        return (
            "Halfway between 32 and 64 you say 48. Lengths are compared by their ratio, so interpolate in log length: "
            "the middle of 32 and 64 is 45.3."
        )
    if abs(given - 32 * 2**0.5) > 0.01:
        return f"reach([32, 64], [1.0, 0.9], 0.95) is {32 * 2**0.5:.2f}, halfway in log length; got {given:.2f}."
    if abs(reach([32, 64], [1.0, 0.99], 0.95) - 64) > 0.01:
        return "Where no score falls below the bar, the reach is the longest tested length."
    if reach([32, 64], [0.5, 0.4], 0.95) != 0:
        return "Where the first score is below the bar already, the reach is 0."
    dip = reach([32, 64, 128], [1.0, 0.9, 0.99], 0.95)
    if abs(dip - 32 * 2**0.5) > 0.01:
        return "A curve that falls below the bar and rises again ends where it FIRST falls."
    right = crossing([Point(*pair) for pair in zip(LENGTHS, SCORES, strict=True)], 0.95).length
    if abs(reach(list(LENGTHS), list(SCORES), 0.95) - right) > 0.01:
        return f"For lengths {LENGTHS} and scores {SCORES} the reach at 0.95 is {right:.2f}."
    return ""


def check_offsets(offsets: Callable[[int, int, int], Tensor]) -> str:
    torch.manual_seed(0)
    ids = offsets(64, 16, 100)
    if not isinstance(ids, Tensor) or ids.shape != (64, 16):
        return "offsets(rows, length, limit) must return ids of shape (rows, length)."
    if not torch.equal(ids.diff(dim=1), torch.ones_like(ids[:, 1:])):
        return "Within a sequence each position must be one more than the last."
    if ids.min() < 0 or ids.max() >= 100:
        return f"Ids must lie between 0 and 99, found {int(ids.min())} to {int(ids.max())}."
    if len(ids[:, 0].unique()) < 8:
        return (
            f"The 64 sequences of the batch begin at {len(ids[:, 0].unique())} different position(s): one offset for "
            "the whole batch makes every step train a small window alone."
        )
    many = torch.stack([offsets(64, 16, 20) for _ in range(10)])
    if int(many.max()) != 19:
        return "The last allowed id is never used: starts run from 0 to limit - length, both ends included."
    return ""


OFFSETS = """import torch


def offsets(rows, length, limit):
    start = torch.randint(limit - length + 1, {shape})
    return (start + torch.arange(length)).expand(rows, length)
"""
REACH = """import math


def reach(lengths, scores, bar):
    if scores[0] < bar:
        return 0
    for (short, high), (long, low) in zip(zip(lengths, scores), zip(lengths[1:], scores[1:])):
        if low < bar:
            share = (high - bar) / (high - low)
            return {result}
    return lengths[-1]
"""

LESSON = Lesson(
    number=5,
    title="Past the trained length",
    question="What happens at position 2,049 if training ended at 2,048?",
    goals=(
        "say for each encoding what it does past the trained length, and why that is not enough",
        "read and compute a reach",
        "choose between a scaling and a coverage of positions",
    ),
    blocks=(
        Prose(
            "Past the trained length a formula goes on, a table ends. Each encoding in Ordinate **declares** what it "
            "does there. That says whether the model runs, not whether it still understands."
        ),
        Explore(
            "policies",
            "What encodings declare.",
            (Picker("policy", "Past the trained length it", tuple(EXTRAPOLATION), "computes"),),
            show_policies,
        ),
        Predict(
            "holds",
            "**Trained on 2K it still works at 8K**, is said of RoPE, because only distances count. Our models are "
            "trained to 32 tokens and tested to four times that. On how many tasks does RoPE hold to 4x?",
            ("on all", "on some", "on none"),
            answer_reach,
        ),
        Explore(
            "scaling",
            f"RoPE with {WIDTH} channels, trained at {TRAINED} tokens, on a longer text.",
            (
                Picker("scaling", "Scaling", ("none", "linear", "ntk", "dynamic", "yarn", "llama3"), "none"),
                Slider("factor", "Times the trained length", 2.0, 8.0, 4.0, 1.0),
            ),
            show_scaling,
        ),
        Prose(
            "Scalings change the angles of a *trained* model. **Coverage** changes training: with random *offsets* "
            "every position is seen, with *randomized* ids every distance too, at the price of a harder task."
        ),
        Explore(
            "coverage",
            "Sequences of 32 tokens, as training draws their positions.",
            (
                Picker("coverage", "Coverage", ("plain", "offset", "randomized"), "plain"),
                Slider("limit", "Ids below", 32, 128, 128, 16),
            ),
            show_coverage,
        ),
        Evidence("stored", "What do offsets and randomized ids do for tables?", stored),
        Exercise(
            "reach",
            "Write `reach(lengths, scores, bar)`: the length at which the score **first** falls below the bar, "
            "interpolated in log length; the longest length if it never does, 0 if it begins below.",
            "reach",
            "import math\n\n\ndef reach(lengths, scores, bar):\n    ...\n",
            check_reach,
            solution=REACH.format(result="short * (long / short) ** share"),
            wrong=REACH.format(result="short + (long - short) * share"),
            hint="share is how far between the two scores the bar lies.",
        ),
        Exercise(
            "offsets",
            "**Find the bug.** Random offsets were added to training, and longer sequences hardly improved.",
            "offsets",
            OFFSETS.format(shape="(1, 1)"),
            check_offsets,
            solution=OFFSETS.format(shape="(rows, 1)"),
            kind="debug",
            hint="How many different starts does one batch have?",
        ),
    ),
    reading=(
        FurtherReading("Press et al. 2021", "2108.12409", "train short, test long"),
        FurtherReading("Ruoss et al. 2023", "2305.16843", "randomized positions"),
        FurtherReading("Peng et al. 2023", "2309.00071", "YaRN, and what the other scalings do to each pair"),
        FurtherReading("Zhou et al. 2024", "2402.09371", "how fragile length generalization is from seed to seed"),
    ),
)
