"""Pictures of who looks at whom."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ordinate.core.errors import InputError
from ordinate.report.chart import Heat, Panel, thin
from ordinate.results.comparison import Comparison, Profile
from ordinate.statistics.types import TaskAnalysis
from ordinate.store.files import read_bytes

MOST_PANELS = 16
LARGEST_PANEL = 256  # cells a side
ALL_CELLS = 2_000_000  # of a report: about 10 MB


def attention(comparison: Comparison, task: TaskAnalysis) -> Iterator[Heat]:
    """The first kept example of each encoding: one panel per layer and head, or per layer where those are too many."""
    kept = [profile for profile in comparison.profiles if profile.attention is not None]
    for profile in kept:
        if profile.task == task.task:
            yield _heat(profile, ALL_CELLS // len(kept))


def _heat(profile: Profile, cells: int) -> Heat:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    assert profile.attention is not None
    name, title = f"{profile.task} attention {profile.encoding}", f"{profile.task}: attention with {profile.encoding}"
    try:
        kept = load(read_bytes(profile.attention))
        count = sum(key.startswith("layer_") for key in kept)
        layers = [np.asarray(kept[f"layer_{index}"][0], dtype=np.float32) for index in range(count)]
        if any(layer.ndim != 3 or not layer.size for layer in layers):
            raise ValueError
    except (OSError, InputError, SafetensorError, KeyError, IndexError, ValueError) as error:
        note = f"The attention maps cannot be read ({type(error).__name__}): train the run again to draw them."
        return Heat(name, title, "key", "query", (), 1, note=note, task=profile.task)
    panels, columns, note = _panels(layers)
    side = min(LARGEST_PANEL, max(32, int((cells / max(len(panels), 1)) ** 0.5)))
    block = max((-(-max(panel.values.shape) // side) for panel in panels), default=1)
    if block > 1:
        panels = [Panel(panel.title, pooled(panel.values, block)) for panel in panels]
        note += f" Each cell is the mean of {block} by {block} positions."
    note += " One example that was not trained on; rows are queries, columns the keys that they look at."
    if not all(np.isfinite(panel.values).all() for panel in panels):
        note += " Empty cells are NaN: the run diverged."
    return Heat(name, title, "key", "query", tuple(panels), columns, block, note.strip(), profile.task)


def _panels(layers: list[NDArray[np.float32]]) -> tuple[list[Panel], int, str]:
    if sum(len(layer) for layer in layers) <= MOST_PANELS:
        found = [Panel(f"L{i} H{j}", head) for i, layer in enumerate(layers, 1) for j, head in enumerate(layer, 1)]
        return found, max((len(layer) for layer in layers), default=1), "L1 H2: layer 1, head 2."
    drawn = thin(len(layers), MOST_PANELS)
    note = "Mean over the heads of a layer."
    if len(drawn) < len(layers):
        note += f" {len(drawn)} of {len(layers)} layers."
    return [Panel(f"layer {i + 1}", layers[i].mean(axis=0)) for i in drawn], min(len(drawn), 4), note


def pooled(values: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    """Means of blocks; those at the end may be smaller."""
    for axis in (0, 1):
        starts = np.arange(0, values.shape[axis], block)
        sizes = np.diff([*starts, values.shape[axis]])
        sums = np.add.reduceat(values, starts, axis=axis)
        values = (sums / sizes.reshape(-1, *[1] * (1 - axis))).astype(np.float32)
    return values
