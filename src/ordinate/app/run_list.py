"""The runs of a store as a table: filtered by the address, sorted by a click, chosen by their rows."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from ordinate.core.errors import InputError
from ordinate.results.run_result import encoding_name
from ordinate.results.run_summary import RunSummary
from ordinate.store import Store
from ordinate.store.run_table import RunTable
from ordinate.studies.plan import PILOT

STATES = ("done", "diverged", "running", "failed", "interrupted", "damaged")
# A column of the table: from which part of a row, how wide or in which form, and what its title does not say.
_NUMBER = st.column_config.NumberColumn
COLUMNS: dict[str, tuple[str, Any]] = {
    "task": ("task", None),
    "encoding": ("encoding", None),
    "seed": ("seed", _NUMBER(format="%d", help="The pilot seed chooses learning rates and is never reported.")),
    "pilot": ("pilot", None),
    "learning rate": ("rate", _NUMBER(format="%g")),
    "state": ("state", None),
    "learned at": ("learned_at", _NUMBER(format="%d", help="The step at which it reached the bar, if it ended there.")),
    "steps": ("step", _NUMBER(format="%d")),
    "in distribution": ("inside", _NUMBER(format="%.3f", help="Its score at the longest trained length.")),
    "tested at": ("headline", None),
    "score there": ("score", _NUMBER(format="%.3f", help="Empty for a run that did not learn the task.")),
    "verdict": ("word", None),
    "training": ("training", None),
    "seconds": ("seconds", _NUMBER(format="%.0f")),
    "started": ("started", None),
    "run": ("run", None),
}
TABLE = "runs-table"


def rows(store: Store, *, keep: bool) -> tuple[list[RunSummary], dict[str, str]]:
    """A row for each run, the newest first, and the errors of damaged runs. `keep`: save the rows in the store."""
    known = _known(str(store.folder))
    found, damaged = known.rows()
    if keep:
        known.save()
    found += [_damaged(store, run_id, sentence) for run_id, sentence in damaged.items()]
    return sorted(found, key=lambda row: row.started, reverse=True), damaged


@st.cache_resource(max_entries=8, show_spinner=False)
def _known(folder: str) -> RunTable:
    return RunTable(Store(Path(folder)))


def _damaged(store: Store, run_id: str, sentence: str) -> RunSummary:
    """The task and the encoding, if the configuration can be read."""
    row = RunSummary(run_id, "", "", None, None, "damaged", None, None, "", sentence)
    with suppress(InputError):
        config = store.run(run_id).config
        row = replace(row, task=config["task"], encoding=encoding_name(config))
    return row


def filtered(found: Sequence[RunSummary]) -> list[RunSummary]:
    """The rows that pass the filters above the table."""
    *columns, last = st.columns([2, 2, 2, 1.6])
    chosen = {}
    for column, part in zip(columns, ("task", "encoding", "state"), strict=True):
        with column:
            chosen[part] = _several(part, found)
    text = last.text_input(
        "Find", key="find", bind="query-params", icon=":material/search:", placeholder="any word, or an id"
    )
    words = (text or "").lower().split()
    return [
        row
        for row in found
        if all(not names or getattr(row, part) in names for part, names in chosen.items())
        and all(word in _text(row) for word in words)
    ]


def _text(row: RunSummary) -> str:
    """The text of a row that is searched for words."""
    return " ".join(str(_cell(row, part)) for part in (*(part for part, _ in COLUMNS.values()), "error")).lower()


def _cell(row: RunSummary, part: str) -> Any:
    """A part of a row; empty text is an empty cell."""
    return ("yes" if row.seed == PILOT else "") if part == "pilot" else getattr(row, part)


def _several(part: str, found: Sequence[RunSummary]) -> list[str]:
    names = {str(getattr(row, part)) for row in found}
    options = [name for name in STATES if name in names] if part == "state" else sorted(names)
    # A plural: Compare has a `task` of its own, which is no filter of this page.
    return st.multiselect(part.capitalize(), options, key=f"{part}s", bind="query-params", placeholder="all")


def groups(shown: Sequence[RunSummary], *, by_settings: bool) -> list[list[RunSummary]]:
    """The rows of the table: one run each, or all seeds with the same task, encoding and settings."""
    found: dict[str, list[RunSummary]] = {}
    for row in shown:
        pilot = "pilot" if row.seed == PILOT else ""
        found.setdefault(f"{row.settings}{pilot}" if by_settings and row.settings else row.run, []).append(row)
    return list(found.values())


def table(
    shown: Sequence[RunSummary], chosen: Sequence[str], choose: Callable[[list[str]], None], *, grouped: bool
) -> None:
    """Draw the rows. `choose` gets the ids when the user ticks other rows than those in `chosen`."""
    found = groups(shown, by_settings=grouped)
    ids = [[row.run for row in group] for group in found]
    ticked = [index for index, members in enumerate(ids) if set(members) <= set(chosen)]
    # What is ticked follows from the address: rows come and go with filters and with new runs.
    st.session_state[TABLE] = {"selection": {"rows": ticked, "columns": [], "cells": []}}
    st.dataframe(
        grouped_frame(found) if grouped else frame(shown), hide_index=True, key=TABLE,
        on_select=partial(_ticked, ids, list(chosen), choose), selection_mode="multi-row",
        height=min(len(found) + 1, 11) * 35 + 3, column_config=config(), placeholder="",
    )  # fmt: skip


def frame(shown: Sequence[RunSummary]) -> pd.DataFrame:
    return pd.DataFrame({title: [_cell(row, part) for row in shown] for title, (part, _) in COLUMNS.items()})


def grouped_frame(found: Sequence[Sequence[RunSummary]]) -> pd.DataFrame:
    """Means over the seeds that are done; the state of a group counts its runs."""
    rows = []
    for group in found:
        first, done = group[0], [row for row in group if row.state == "done"]
        states = {state: sum(row.state == state for row in group) for state in STATES}
        rows.append(
            {
                "task": first.task,
                "encoding": first.encoding,
                "seeds": len(group),
                "pilot": _cell(first, "pilot"),
                "learning rate": first.rate,
                "state": ", ".join(f"{count} {state}" for state, count in states.items() if count),
                "learned": f"{sum(row.learned_at is not None for row in done)} of {len(group)}",
                "steps": _mean([row.step for row in done]),
                "in distribution": _mean([row.inside for row in done]),
                "tested at": first.headline,
                "score there": _mean([row.score for row in done]),
                "seconds": _mean([row.seconds for row in done]),
                "settings": first.settings,
            }
        )
    return pd.DataFrame(rows)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def config() -> dict[str, Any]:
    return {title: form for title, (_, form) in COLUMNS.items() if form is not None}


def _ticked(groups: list[list[str]], before: list[str], choose: Callable[[list[str]], None]) -> None:
    """Runs that are chosen but filtered away stay; new ones come last."""
    rows = [groups[index] for index in st.session_state[TABLE]["selection"]["rows"] if index < len(groups)]
    now, listed = [name for group in rows for name in group], {name for group in groups for name in group}
    stay = [run_id for run_id in before if run_id in now or run_id not in listed]
    choose([*stay, *(run_id for run_id in now if run_id not in stay)])
