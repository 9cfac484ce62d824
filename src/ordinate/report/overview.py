"""Tasks by encodings on one screen: how many seeds learned each task, how far they hold, and which encoding to use.

`docs/results.py` derives it from the shipped results and writes it into README.md and into `overview.json`, from where
the app reads it: deriving it takes a minute, reading it no time."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ordinate.statistics.phrases import called, listed
from ordinate.statistics.types import Finding, TaskAnalysis

if TYPE_CHECKING:
    from ordinate.studies.study_outcome import StudyOutcome

OVERVIEW = Path(__file__).parents[1] / "overview.json"


@dataclass(frozen=True)
class OverviewCell:
    """One encoding on one task."""

    learned: int
    seeds: int
    reach: float | None  # in multiples of the trained length, the median over seeds; None: not learned
    at_least: bool  # the reach is the longest length that was tested
    use: bool  # the tests recommend it
    rising: bool = False  # its budget was cut while it was still learning

    @property
    def text(self) -> str:
        """`6/6, 3.4x+`."""
        solved = f"{self.learned}/{self.seeds}" + ", rising" * self.rising
        return solved if self.reach is None else f"{solved}, {self.reach:.1f}x{'+' * self.at_least}"


@dataclass(frozen=True)
class OverviewRow:
    """One task, from one comparison."""

    family: str
    task: str
    words: str  # what it asks for
    example: str  # one problem with its answer
    study: str  # the id of the comparison among the examples
    trained: int  # the longest trained length
    bar: float | None
    cells: dict[str, OverviewCell]  # by encoding
    verdict: str


def overview(outcomes: Iterable["StudyOutcome"]) -> list[OverviewRow]:
    """From the finished comparisons of these studies that follow our rules, by family and task.

    A task on grids, which most of the usual encodings cannot read, has no row.
    """
    from ordinate import encodings, tasks  # with torch, which a reader of the result does not need

    rows, usual = [], encodings.usual()
    for task, study, trained in fair_tasks(outcomes):
        cells = {name: cell(task, name) for name in usual if name in task.encodings}
        if 2 * len(cells) < len(usual):
            continue
        about = tasks.describe(task.task)
        named = task.family, task.task, about["words"], about["example"]
        rows.append(OverviewRow(*named, study, trained, task.bar, cells, verdict_words(task)))
    return rows


def columns(rows: Sequence[OverviewRow]) -> list[str]:
    """The encodings, the one that holds furthest over all tasks first."""
    reach: dict[str, float] = {}
    for row in rows:
        for name, cell in row.cells.items():
            reach[name] = reach.get(name, 0.0) + (cell.reach or 0.0)
    return sorted(reach, key=lambda name: -reach[name])


def fair_tasks(outcomes: Iterable["StudyOutcome"]) -> list[tuple[TaskAnalysis, str, int]]:
    """The tasks that were compared under our rules, at their defaults, by family; each with its comparison and the
    longest trained length. Of several comparisons on one task, the one with the most encodings counts."""
    found: dict[str, tuple[TaskAnalysis, str, int]] = {}
    for part in (part for outcome in outcomes for part in outcome.parts):
        if part.finished and part.comparison and not part.part.settings and "(" not in part.part.tasks[0]:
            for task in part.comparison.analysis.tasks:
                known = found[task.task][0].encodings if task.task in found else ()
                if "none" in task.encodings and len(task.encodings) > len(known):
                    found[task.task] = task, part.part.study.id, part.comparison.trained[task.task][1]
    return sorted(found.values(), key=lambda item: (item[0].family, item[0].task))


def cell(task: TaskAnalysis, name: str) -> OverviewCell:
    """What one encoding did on one task."""
    learned, seeds = task.learned.get(name, (0, 0))
    reach = task.reach[name].median if task.reach[name].by_most else None
    at_least = reach is not None and task.reach[name].at_least(reach)
    rounded = None if reach is None else round(reach, 3)
    steps = task.steps.get(name)
    rising = reach is None and steps is not None and steps.rising
    return OverviewCell(learned, seeds, rounded, at_least, name in task.verdict.use, rising)


def verdict_words(task: TaskAnalysis) -> str:
    """`use t5 or rope`."""
    if task.verdict.finding is Finding.USE:
        return f"use {listed([called(name) for name in task.verdict.use], 'or')}"
    return "nothing is shown to be best"


def write_overview(rows: Sequence[OverviewRow]) -> str:
    """The content of `overview.json`."""
    return json.dumps([asdict(row) for row in rows], indent=1) + "\n"


@cache
def shipped_overview() -> tuple[OverviewRow, ...]:
    """What `write_overview` wrote."""
    rows = json.loads(OVERVIEW.read_text(encoding="utf-8"))
    return tuple(
        OverviewRow(**row | {"cells": {name: OverviewCell(**cell) for name, cell in row["cells"].items()}})
        for row in rows
    )
