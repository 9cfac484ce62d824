"""The costs of encodings as tables, for the terminal and for a page."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

OverheadRow = Mapping[str, Any]

MEASURED = Path(__file__).parents[1] / "cost.json"  # of all encodings on our machine: docs/COST.md shows it

COLUMNS = ("encoding", "parameters", "per layer", "training step", "memory", "decoding step", "path")


@cache
def measured() -> Mapping[str, OverheadRow]:
    """What was measured of each encoding, for text before grids."""
    rows: list[OverheadRow] = json.loads(MEASURED.read_text())["rows"]
    return {row["encoding"]: row for row in sorted(rows, key=lambda row: -row["axes"])}


def step_ratio(encoding: str) -> str:
    """`1.04`: the time of a training step over that without encoding; empty if it was not measured."""
    row = measured().get(encoding.partition("(")[0])
    return "" if row is None or row["step"] is None else _ratio(row["step"])


def cells(row: OverheadRow) -> list[str]:
    """One encoding, in the order of the columns."""
    drawn = "" if row["axes"] == 1 else f" ({row['axes']}-D)"
    return [
        f"{row['encoding']}{drawn}",
        f"{row['parameters']:,}",
        f"{row['parameters_per_layer']:,}",
        _ratio(row["step"]),
        "-" if row["memory"] is None else f"{row['memory']:.2f}",
        _ratio(row["decoding"]),
        _paths(row),
    ]


def _ratio(ratio: OverheadRow | None) -> str:
    return "-" if ratio is None else f"{ratio['best']:.2f}"


def _paths(row: OverheadRow) -> str:
    """The path of training, and that of the long layer where it is another."""
    long = row["memory_path"]
    return row["path"] if not long or long == row["path"] else f"{row['path']}, long: {long}"


def about(document: OverheadRow) -> str:
    """What was measured, in a sentence or two."""
    sizes, machine = document["sizes"], document["machine"]
    threads = f"{sizes['threads']} thread{'s' * (sizes['threads'] != 1)}"
    lines = [
        f"Times the cost of `none`, measured in turns with it. Model: width {sizes['dim']}, {sizes['heads']} heads,"
        f" {sizes['layers']} layers; a training step has {sizes['batch']} sequences of {sizes['length']} tokens, a"
        f" decoding step one, at the end of {sizes['length']} in the cache. Best of {sizes['rounds']} rounds,"
        f" {threads}."
    ]
    if sizes["memory_length"]:
        lines.append(
            f"Memory: the peak of one layer, forward and backward, over {sizes['memory_length']:,} tokens, each in a"
            " fresh process."
        )
    lines.append(f"{machine['processor']}, torch {machine['torch']}, ordinate {machine['ordinate']}.")
    return " ".join(lines)


def problems(document: OverheadRow) -> list[str]:
    """What could not be measured, and why."""
    return [f"{row['encoding']}: {problem}" for row in document["rows"] for problem in row["problems"]]


def markdown(document: OverheadRow) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|" + "---:|" * 5 + "---|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in document["rows"]]
    missing = [f"- {problem}" for problem in problems(document)]
    lines += ["", "Not measured:", "", *missing] if missing else []
    return "\n".join([fill(about(document), 120), "", *lines, ""])
