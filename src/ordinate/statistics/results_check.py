"""What is checked when all rows of a file are there, and what is said of what it does not tell."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ordinate.core.errors import InputError
from ordinate.statistics.observation import SPLITS, Observations
from ordinate.statistics.results_fields import brief

SHOWN = 5  # lines or tasks that a sentence names
VALID, ID, OOD = (SPLITS.index(split) for split in ("valid", "id", "ood"))


def without_repeats(given: Observations, lines: Int[np.ndarray, " n"], name: str) -> tuple[Observations, Sequence[int]]:
    """Rows that stand twice once, and the lines of the others; two rows that say different things are refused."""
    keys = (given.length, given.split, given.seed, given.encoding, given.task)
    order = np.lexsort(keys)
    again = np.ones(len(order), dtype=bool)
    again[:1] = False
    for key in keys:
        again[1:] &= key[order[1:]] == key[order[:-1]]
    later, before = order[again], order[np.flatnonzero(again) - 1]
    if not len(later):
        return given, []
    same = (given.score[later] == given.score[before]) | (np.isnan(given.score[later]) & np.isnan(given.score[before]))
    same &= given.diverged[later] == given.diverged[before]
    if not same.all():
        at = int(np.flatnonzero(~same)[np.argmin(later[~same])])
        row = later[at]
        raise InputError(
            f"{name}, lines {lines[before[at]]} and {lines[row]}: two different rows for "
            f"{brief(given.encodings[given.encoding[row]])} on {brief(given.tasks[given.task[row]].name)}, seed "
            f"{given.seed[row]}, {SPLITS[given.split[row]]} {given.length[row]}: keep one"
        )
    keep = np.ones(len(order), dtype=bool)
    keep[later] = False
    arrays = {field.name: getattr(given, field.name) for field in fields(given)}
    kept: dict[str, Any] = {key: column[keep] for key, column in arrays.items() if isinstance(column, np.ndarray)}
    return replace(given, **kept), np.sort(lines[later]).tolist()


def check(found: Observations, name: str) -> None:
    """What single rows cannot show, or one sentence."""
    if (found.split == VALID).all():
        raise InputError(f"{name}: all rows have split valid, which chooses and never counts: give id or ood")
    scored = _scored(found)[found.task]
    odd = np.flatnonzero(scored & ((found.score < 0) | (found.score > 1)))
    if len(odd):
        raise InputError(
            f"{name}: {brief(found.tasks[found.task[odd[0]]].name)} has the score {float(found.score[odd[0]])!r}: "
            "write accuracies from 0 to 1 (or direction=lower for a loss)"
        )
    longest = np.zeros(len(found.tasks), dtype=np.int64)
    inside = found.split == ID
    np.maximum.at(longest, found.task[inside], found.length[inside])
    short = np.flatnonzero((found.split == OOD) & (found.length <= longest[found.task]))
    if len(short):
        task = found.task[short[0]]
        raise InputError(
            f"{name}: {brief(found.tasks[task].name)} has length {found.length[short[0]]} as ood, but {longest[task]} "
            "as id: what is out of distribution by length is longer"
        )


def limits(
    found: Observations, columns: Sequence[str], twice: Sequence[int], empty: Sequence[int], nan: Sequence[int]
) -> list[str]:
    """What a reader of the results must know that the file does not tell."""
    told, scored = [], _scored(found).any()
    if scored and "chance" not in columns:
        told.append("no column chance: it is taken as 0, so nothing can be told to be at chance")
    if scored and "n" not in columns:
        told.append("no column n (sequences per score): the floor has no band of luck around it")
    if scored and "bar" not in columns:
        told.append("no column bar: a task counts as learned from 0.95 on")
    if "direction" not in columns:
        told.append("no column direction: higher scores are taken as better")
    told += _without_inside(found)
    if len(found.encodings) == 1:
        told.append("one encoding alone: intervals, but nothing to compare")
    for lines, text in (
        (twice, "rows that stand twice count once"),
        (empty, "empty scores are taken as out of range"),
        (nan, "scores that are no number (NaN) are taken as diverged runs"),
    ):
        if lines:
            where = ", ".join(map(str, lines[:SHOWN])) + (", ..." if len(lines) > SHOWN else "")
            told.append(f"{text}: {len(lines)} (line{'s' * (len(lines) > 1)} {where})")
    told.append("a file does not tell how learning rates were chosen, nor whether training showed test problems")
    return told


def _without_inside(found: Observations) -> list[str]:
    inside = np.bincount(found.task[found.split == ID], minlength=len(found.tasks))
    names = [brief(found.tasks[task].name) for task in np.flatnonzero(inside == 0).tolist()]
    if len(names) > SHOWN:
        some = ", ".join(names[:SHOWN])
        return [f"{len(names):,} tasks have no rows in distribution (split id), so no gate to pass: {some}, ..."]
    return [f"{name} has no rows in distribution (split id): there is no gate to pass" for name in names]


def _scored(found: Observations) -> Bool[np.ndarray, " tasks"]:
    """Whether each task has a bar."""
    return np.array([facts.bar is not None for facts in found.tasks], dtype=bool)
