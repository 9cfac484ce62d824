"""Pictures of who looks at whom: one head large with the tokens, and all heads of a run side by side."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ordinate.core.errors import InputError
from ordinate.report.attention_example import ANSWER, AttentionExample, AttentionHead, read_examples
from ordinate.report.chart import Heat, Panel, thin
from ordinate.results.comparison import Comparison, Profile
from ordinate.statistics.phrases import capital
from ordinate.statistics.types import TaskAnalysis

MOST_PANELS = 16
LARGEST_PANEL = 256  # cells a side
MOST_TOKENS = 80  # that are written along the axes, and whose rows are told in words
MOST_MARKS = 400  # more would hide the picture
ALL_CELLS = 2_000_000  # of a report: about 10 MB
HEAD_HEIGHT = 430  # of a large panel, in pixels

EXAMPLE = "One example that was not trained on; rows are queries, columns the keys that they look at."
MARKED = (
    "Red squares mark where the answer of a query stands; a model may also find it another way, over several layers."
)


def attention(comparison: Comparison, task: TaskAnalysis) -> Iterator[Heat]:
    """The first kept example of each encoding, the best encoding first: the head that looks most at the target, and
    all heads."""
    kept = [profile for profile in comparison.profiles if profile.attention is not None]
    order = {encoding: place for place, encoding in enumerate(task.encodings)}
    own = [profile for profile in kept if profile.task == task.task]
    for profile in sorted(own, key=lambda profile: order.get(profile.encoding, len(order))):
        yield from _pictures(profile, _seed(comparison, profile), ALL_CELLS // len(kept))


def _seed(comparison: Comparison, profile: Profile) -> str:
    """`, seed 1`: the run whose file it is."""
    assert profile.attention is not None
    seeds = [run.seed for run in comparison.runs if run.run == profile.attention.parent.name]
    return f", seed {seeds[0]}" if seeds else ""


def _pictures(profile: Profile, seed: str, cells: int) -> Iterator[Heat]:
    assert profile.attention is not None
    name, title = f"{profile.task} attention {profile.encoding}", f"{profile.task}: attention with {profile.encoding}"
    task, group = profile.task, profile.encoding
    try:
        example = read_examples(profile.attention, profile.task)[0]
    except InputError as error:
        yield Heat(name, title, "key", "query", (), 1, note=f"{capital(str(error))}.", task=task, group=group)
        return
    first = example.heads[0]
    one = one_head(example, first, name, f"{title}{seed}", cells // 2)
    every = all_heads(example, f"{profile.task} heads {profile.encoding}", f"{title}{seed}: all heads", cells // 2)
    yield replace(one, task=task, group=group)
    yield replace(every, task=task, group=group)


def one_head(example: AttentionExample, head: AttentionHead, name: str, title: str, cells: int = ALL_CELLS) -> Heat:
    """One head, large, with the tokens at the axes and a mark wherever a query's answer stands."""
    length, few = head.weights.shape[-1], max(head.weights.shape) <= MOST_TOKENS
    rows = tuple(example.looks_at(head.weights, query) for query in range(len(head.weights))) if few else ()
    panels, block, note = _pooled([Panel(head.name, head.weights, head.looks, rows)], cells)
    marks = tuple(example.marks) if block == 1 and len(example.marks) <= MOST_MARKS else ()
    labels = (*example.tokens, *[""] * (length - len(example.tokens))) if few and example.tokens else ()
    parts = [EXAMPLE, "Point at a row to read what its query looks at." if few else "", MARKED if marks else "", note]
    return Heat(
        name, title, "key", "query", tuple(panels), 1, block, " ".join(filter(None, parts)),
        row_height=HEAD_HEIGHT, labels=labels, marks=marks,
    )  # fmt: skip


def all_heads(example: AttentionExample, name: str, title: str, cells: int = ALL_CELLS) -> Heat:
    """Small panels of all heads, named by what they look at; of many, those that look most at the target, or the mean
    of each layer where the task names no target."""
    heads = example.heads
    if len(heads) <= MOST_PANELS or example.answers:
        chosen = [Panel(head.name, head.weights, head.looks) for head in heads[:MOST_PANELS]]
        parts = ["L1 H2: layer 1, head 2, with the mean share of its attention on one place."]
        if len(heads) > MOST_PANELS:
            parts.append(f"The first {MOST_PANELS} of {len(heads)} heads.")
        if ANSWER in example.even:
            parts.append(
                "The target is where a query's answer stands; heads that look there most come first. Attention that is "
                f"spread evenly has {example.even[ANSWER]:.2f} there."
            )
    else:
        drawn = thin(len(example.layers), MOST_PANELS)
        chosen = [Panel(f"layer {i + 1}", example.layers[i].mean(axis=0)) for i in drawn]
        parts = ["Mean over the heads of a layer."]
        if len(drawn) < len(example.layers):
            parts.append(f"{len(drawn)} of {len(example.layers)} layers.")
    panels, block, note = _pooled(chosen, cells)
    parts += [EXAMPLE, note]
    heat = Heat(name, title, "key", "query", tuple(panels), min(len(panels), 4), block, " ".join(filter(None, parts)))
    return replace(heat, row_height=170)


def _pooled(panels: list[Panel], cells: int) -> tuple[list[Panel], int, str]:
    """Panels of at most so many cells together, how many positions each way are one cell, and what to say of it."""
    side = min(LARGEST_PANEL, max(32, int((cells / max(len(panels), 1)) ** 0.5)))
    block = max((-(-max(panel.values.shape) // side) for panel in panels), default=1)
    note = ""
    if block > 1:
        panels = [Panel(panel.title, pooled(panel.values, block), panel.note) for panel in panels]
        note = f"Each cell is the mean of {block} by {block} positions."
    if not all(np.isfinite(panel.values).all() for panel in panels):
        note += " Empty cells are NaN: the run diverged."
    return panels, block, note.strip()


def pooled(values: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    """Means of blocks; those at the end may be smaller."""
    for axis in (0, 1):
        starts = np.arange(0, values.shape[axis], block)
        sizes = np.diff([*starts, values.shape[axis]])
        sums = np.add.reduceat(values, starts, axis=axis)
        values = (sums / sizes.reshape(-1, *[1] * (1 - axis))).astype(np.float32)
    return values
