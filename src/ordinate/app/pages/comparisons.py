"""All comparisons, the user's own and those that come with the program: a table, and below it those that are ticked."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from ordinate.app import comparison_actions, comparisons_beside, live_view, stores
from ordinate.app.figure_view import plain
from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.driver import driver
from ordinate.studies.study_list import StudyRow, study_row
from ordinate.studies.study_store import StoredStudy

TABLE = "comparisons-table"
MOST = 2  # side by side
_COLUMNS: dict[str, Any] = {
    "verdict": st.column_config.TextColumn(width=360),
    "state": st.column_config.TextColumn(width=150),
    "started": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", width=130),
    "encodings": st.column_config.TextColumn(width=150),
    "note": st.column_config.TextColumn(width=120),
}


def page() -> None:
    st.title("Comparisons", anchor=False)
    found, damaged = _all()
    for sentence in damaged:
        st.warning(plain(sentence))
    if not found:
        st.info("There is no comparison yet: start one on the page Compare.")
    else:
        _table(found)
        chosen = _chosen(found)
        if len(chosen) == MOST:
            both = [live_view.gathered(store, row.kept) for store, row in chosen]
            comparisons_beside.show([row for _, row in chosen], both)
        else:
            store, row = chosen[0]
            comparison_actions.show(store, row)
            live_view.show(store, row.kept, key=f"comparisons-{row.kept.study.id}")
    comparison_actions.show_bin(stores.own())


def _all() -> tuple[dict[str, tuple[Store, StudyRow]], list[str]]:
    """By id, the newest of the user's first, then the examples; and a sentence for each that cannot be read."""
    found: dict[str, tuple[Store, StudyRow]] = {}
    damaged = []
    for store in stores.both().values():
        try:
            names = study_store.names(store)
        except InputError as error:
            damaged.append(str(error))
            continue
        for name in reversed(names):
            try:
                found.setdefault(name, (store, _row(store, study_store.find(store, name))))
            except InputError as error:
                damaged.append(str(error))
    return found, damaged


def _row(store: Store, kept: StoredStudy) -> StudyRow:
    """Read again when a run was added, or when its own folder has changed."""
    changed = (live_view.stamp(store), kept.folder.stat().st_mtime_ns, driver(kept.folder) is None)
    return _read(str(kept.folder), changed, store, kept)


@st.cache_data(max_entries=1000, show_spinner="Reading the comparisons")
def _read(folder: str, changed: tuple[float, int, bool], _store: Store, _kept: StoredStudy) -> StudyRow:
    return study_row(_store, _kept)


def _table(found: dict[str, tuple[Store, StudyRow]]) -> None:
    """Which rows are ticked follows from the address."""
    ids, ticked = list(found), [list(found).index(name) for name in _wanted() if name in found]
    st.session_state[TABLE] = {"selection": {"rows": ticked, "columns": [], "cells": []}}
    st.caption("Tick a row to read it below, or two to see them side by side.")
    st.dataframe(
        pd.DataFrame([_cells(store, row) for store, row in found.values()]), hide_index=True, key=TABLE,
        on_select=partial(_ticked, ids), selection_mode="multi-row", column_config=_COLUMNS, placeholder="",
        height=min(len(found) + 1, 9) * 35 + 3,
    )  # fmt: skip


def _cells(store: Store, row: StudyRow) -> dict[str, Any]:
    study, shipped = row.kept.study, store.folder != stores.own().folder
    progress = "" if row.state == "finished" else f", {row.done} of {row.runs} runs"
    several = len(row.verdicts) > 1
    return {
        "name": row.name,
        "state": "example" if shipped else row.state + progress,
        "started": None if shipped else row.started,
        "tasks": ", ".join(study.tasks),
        "verdict": " ".join(f"{task}: {words}" if several else words for task, words in row.verdicts.items()),
        "encodings": ", ".join(study.encodings),
        "seeds": "until settled" if study.seeds == "auto" else str(study.seeds),
        "note": row.kept.note,
        "id": study.id,
    }


def _ticked(ids: Sequence[str]) -> None:
    """The rows that were ticked last stay, at most two."""
    rows = [ids[index] for index in st.session_state[TABLE]["selection"]["rows"] if index < len(ids)]
    before = [name for name in _wanted() if name in rows]
    st.query_params["study"] = ",".join([*before, *(name for name in rows if name not in before)][-MOST:])


def _wanted() -> list[str]:
    return [name for name in st.query_params.get("study", "").split(",") if name]


def _chosen(found: dict[str, tuple[Store, StudyRow]]) -> list[tuple[Store, StudyRow]]:
    """Those in the address, else the first."""
    wanted = _wanted()
    for name in wanted:
        if name not in found:
            st.error(f"No comparison {plain(repr(name))} is in this store: choose another one.")
    return [found[name] for name in wanted if name in found][:MOST] or [next(iter(found.values()))]
