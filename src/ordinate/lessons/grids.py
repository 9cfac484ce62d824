"""Two dimensions: what flattening an image loses, and encodings that read rows and columns."""

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.probes.encoding_effects import Setting
from ordinate.report.chart import Heat
from ordinate.report.encoding_figures import encoding_figures
from ordinate.teaching import evidence
from ordinate.teaching.charts import heat, table
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

SETTING = Setting(head_dim=16, heads=4, length=8, reach=16, grid=True)


def flat_distance(width: int) -> Tensor:
    """From the middle of a square: the difference of flattened positions to every cell."""
    cells = torch.arange(width * width).view(width, width)
    middle = cells[width // 2, width // 2]
    return (cells - middle).abs()


def show_flat(width: int) -> Shown:
    flat = flat_distance(width)
    at = torch.arange(width) - width // 2
    true = (at[:, None].square() + at[None].square()).float().sqrt()
    names = [str(index) for index in range(width)]
    drawn = heat(
        "Distance from the middle cell", "column", "row", {"flattened": flat.float().log1p(), "on the grid": true},
        rows=names, columns=names, signed=False, square=True, row_height=280, value="distance",
        note="Flattened distances as log(1 + distance).",
    )  # fmt: skip
    right, below = int(flat[width // 2, width // 2 + 1]), int(flat[width // 2 + 1, width // 2])
    words = (
        f"Read row by row, the cell to the right is {right} away and the cell **below is {below}** away. On an image "
        f"of "
        f"another width it is another number, so what a model learned about *below* at width {width} is wrong there."
    )
    return Shown(words, (drawn,))


def answer_resize() -> Revealed:
    rows = [(width, 1, width) for width in (8, 12, 16)]
    words = (
        "One column to the right is always 1 away. One row down is the **width**: trained on 8 columns, the distance 8 "
        "that meant *below* means something else on 12 columns. Encodings with two axes keep both."
    )
    columns = {"columns of the image": "d", "to the right": "d", "below": "d"}
    changes = {row[2] for row in rows}
    return Revealed(1 if len(changes) > 1 else 0, Shown(words, tables=(table("Flattened distances", columns, rows),)))


def show_map(encoding: str, base: int) -> Shown:
    text = f"rope_2d(base={base})" if encoding == "rope_2d" else encoding
    made = encoding_figures(text, SETTING)
    maps = [figure for figure in made.figures if isinstance(figure, Heat) and "middle" in figure.title]
    words = f"`{text}` on a grid of 8 x 8 cells. " + " ".join(made.remarks)
    words += "" if encoding == "rope_2d" else " The base belongs to `rope_2d` alone."
    return Shown(words, tuple(maps))


def stored() -> Shown:
    return evidence.scores("image-2d", "more encodings")


def check_positions(positions: Callable[[int, int], Tensor]) -> str:
    given = positions(3, 5)
    if not isinstance(given, Tensor) or given.shape != (15, 2):
        return (
            "grid_positions(3, 5) must have shape (15, 2): a row for each cell, in reading order, and two coordinates."
        )
    right = torch.cartesian_prod(torch.arange(3), torch.arange(5))
    if torch.equal(given.flip(1), right):
        return "Row and column are swapped: the first coordinate is the row."
    if given[:, 0].max() > 2 or given[:, 1].max() > 4:
        return (
            f"The largest coordinates are {given.max(dim=0).values.tolist()}, but a grid of 3 rows and 5 columns "
            "ends at [2, 4]: divide by the number of columns."
        )
    if not torch.equal(given, right):
        bad = int((given != right).any(dim=1).nonzero()[0])
        return f"Cell {bad} stands at {right[bad].tolist()}, got {given[bad].tolist()}."
    return ""


def check_index(index: Callable[[int, int, int], int]) -> str:
    window = 4
    offsets = range(-(window - 1), window)
    found = {(down, right): index(down, right, window) for down in offsets for right in offsets}
    owner: dict[int, tuple[int, int]] = {}
    for offset, row in found.items():
        if row in owner:
            return (
                f"Offsets {owner[row]} and {offset} share row {row} of the table, so one bias serves both: a window of "
                f"{window} has {2 * window - 1} offsets along each axis, and a row of offsets needs as many places."
            )
        owner[row] = offset
    if min(found.values()) < 0 or max(found.values()) >= (2 * window - 1) ** 2:
        return f"Rows must lie between 0 and {(2 * window - 1) ** 2 - 1}."
    return ""


INDEX = "def index(down, right, window):\n    edge = window - 1\n    return (down + edge) * {stride} + right + edge\n"
GRID = (
    "import torch\n\n\ndef grid_positions(rows, columns):\n    cells = torch.arange(rows * columns)\n"
    "    return torch.stack((cells // {by}, cells % {by}), dim=1)\n"
)

LESSON = Lesson(
    number=7,
    title="Two dimensions",
    question="Where does a patch of an image stand?",
    goals=(
        "say what flattening an image loses",
        "read a map of what an encoding prefers around a cell",
        "number the offsets of a window without collisions",
    ),
    blocks=(
        Prose(
            "A vision transformer cuts an image into patches and reads them row by row. With positions 0, 1, 2, ... "
            "the neighbor below is far away. **Move the width.**"
        ),
        Explore("flat", "Distances from the middle cell.", (Slider("width", "Columns", 5, 15, 8),), show_flat),
        Predict(
            "resize",
            "A model with flattened positions was trained on 8 x 8 patches. Which relation changes on 12 x 12?",
            ("none: distances are distances", "what is below"),
            answer_resize,
        ),
        Explore(
            "map",
            "Rows and columns as two axes: what a cell in the middle prefers (trained tables as they start).",
            (
                Picker("encoding", "Encoding", ("rope_2d", "sinusoidal_2d", "learned_2d", "cpb", "swin"), "rope_2d"),
                Slider("base", "Base of rope_2d", 10, 1000, 100, 10),
            ),
            show_map,
        ),
        Evidence("stored", "Which finds the symbol at an offset, also on a larger grid?", stored),
        Exercise(
            "positions",
            "Write `grid_positions(rows, columns)`: a tensor of shape (rows * columns, 2) with the row and the column "
            "of each cell in reading order.",
            "grid_positions",
            "import torch\n\n\ndef grid_positions(rows, columns):\n    ...\n",
            check_positions,
            solution=GRID.format(by="columns"),
            wrong=GRID.format(by="rows"),
            hint="How many cells come before a row begins?",
        ),
        Exercise(
            "index",
            "**Find the bug.** This table of biases by offset (as in Swin) learns slowly and never well.",
            "index",
            INDEX.format(stride="window"),
            check_index,
            solution=INDEX.format(stride="(2 * window - 1)"),
            kind="debug",
            hint="From -(window - 1) to window - 1: how many offsets are that?",
        ),
    ),
    reading=(
        FurtherReading("Dosovitskiy et al. 2020", "2010.11929", "appendix D.4 compares 1-D and 2-D positions"),
        FurtherReading("Liu et al. 2021", "2103.14030", "a bias for every offset"),
        FurtherReading("Heo et al. 2024", "2403.13298", "RoPE on two axes"),
    ),
)
