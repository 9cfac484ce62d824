"""The claim about cost by length, from a stored measurement."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ordinate.report.chart import Chart, Series
from ordinate.report.colors import styles
from ordinate.report.depth.models import Answer
from ordinate.report.table import Column, Table

QUADRATIC = 1.5  # exponents above are closer to 2 than to 1
LONG = 2048  # from this length on exponents are fitted


def cost(rows: Sequence[Mapping[str, Any]]) -> Answer:
    """rows: encoding, length, path, seconds and bytes, as docs/length_cost.py measures them."""
    title = "Cost grows quadratically with length"
    measure = (
        f"Time and peak memory of one training step of one layer, batch 1, at lengths up to 8,192; the exponent is the "
        f"slope of log cost over log length from {LONG:,} on. Above {QUADRATIC} it is closer to quadratic than linear."
    )
    if not rows:
        return Answer(title, measure, None, waiting="python docs/length_cost.py")
    rows = [{**row, "encoding": row["encoding"].partition("(")[0]} for row in rows]
    names = list(dict.fromkeys(row["encoding"] for row in rows))
    table, exponents = [], {}
    for name in names:
        own = [row for row in rows if row["encoding"] == name]
        time, memory = (
            slope([(r["length"], r[key]) for r in own if r["length"] >= LONG]) for key in ("seconds", "bytes")
        )
        exponents[name] = time, memory
        last = max(own, key=lambda row: row["length"])
        table.append((name, last["path"], last["seconds"], time, last["bytes"] / 1e6, memory))
    columns = (
        Column("encoding", "encoding"), Column("path", "path"), Column("seconds", "s at 8,192", ".2f"),
        Column("time", "exponent", ".2f"), Column("mb", "MB at 8,192", ".0f"), Column("memory", "exponent", ".2f"),
    )  # fmt: skip
    times, memories = ([values[index] for values in exponents.values()] for index in (0, 1))
    slow, large = ([value > QUADRATIC for value in values] for values in (times, memories))
    word = "Holds" if all(slow + large) else "Does not hold" if not any(slow + large) else "Holds in part"
    text = (
        f"**{word}**: time grows with exponents of {min(times):.1f} to {max(times):.1f}, closer to quadratic for "
        f"{sum(slow)} of {len(slow)} encodings; memory with {min(memories):.1f} to {max(memories):.1f}, "
        f"closer to quadratic for {sum(large)} of {len(large)}"
    )
    if max(memories) < QUADRATIC:
        text += ": the paths that were taken never hold all scores at once"
    looks, series = styles(names), []
    for name in names:
        points = sorted((row["length"], row["seconds"]) for row in rows if row["encoding"] == name)
        x, y = (tuple(math.log2(value) for value in values) for values in zip(*points, strict=True))
        series.append(Series(name, x, y, looks[name], "mean", name))
    chart = Chart("length", "Time of one step of one layer", "log2 of the length", "log2 of seconds", tuple(series))
    return Answer(title, measure, f"{text}.", (Table("cost", "Cost by length", columns, table),), (chart,))


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The exponent of a power law, by least squares in logarithms."""
    x, y = ([math.log(value) for value in values] for values in zip(*points, strict=True))
    middle, height = fmean(x), fmean(y)
    across = sum((a - middle) ** 2 for a in x)
    return sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / across
