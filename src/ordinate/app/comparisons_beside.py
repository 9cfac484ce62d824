"""Two comparisons side by side: their verdicts, the settings in which they differ, and their scores in one table."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ordinate.app.comparison_view import frame
from ordinate.app.figure_view import plain
from ordinate.report.summary import main_ranges, summary_table
from ordinate.results.comparison import Comparison
from ordinate.statistics.sentences import sentences
from ordinate.studies.study_list import StudyRow


def show(rows: Sequence[StudyRow], both: Sequence[Comparison]) -> None:
    left, right = both
    names = [f"{letter} ({comparison.id[:6]})" for letter, comparison in zip("AB", both, strict=True)]
    for column, name, row, comparison in zip(st.columns(2, gap="large"), names, rows, both, strict=True):
        with column:
            st.subheader(f"{name}: {plain(row.name)}", anchor=False)
            st.code(comparison.command, language="shell", wrap_lines=True)
            for task in comparison.analysis.tasks:
                st.markdown(f"**{plain(task.task)}**: {plain(sentences(comparison.analysis, task)[0])}")
    st.subheader("Settings that differ", anchor=False)
    differing = plans_that_differ(*rows) | settings_that_differ(left, right)
    if differing:
        cells = [[key, *map(str, values)] for key, values in differing.items()]
        st.dataframe(pd.DataFrame(cells, columns=["setting", *names]), hide_index=True)
    else:
        st.caption("None.")
    st.subheader("Scores", anchor=False)
    st.dataframe(scores(left, right, names), hide_index=True)
    st.caption("Each comparison was tested alone. A difference between A and B was not tested.")


def plans_that_differ(left: StudyRow, right: StudyRow) -> dict[str, tuple[str, str]]:
    """What a comparison has beside the settings of its runs."""
    plans = [
        {
            "tasks": ", ".join(row.kept.study.tasks),
            "encodings": ", ".join(row.kept.study.encodings),
            "seeds": str(row.kept.study.seeds),
            "learning rates": f"tuned, from {', '.join(f'{rate:g}' for rate in row.kept.study.rates)}"
            if row.kept.study.rates
            else "one for all",
        }
        for row in (left, right)
    ]
    return {key: (plans[0][key], plans[1][key]) for key in plans[0] if plans[0][key] != plans[1][key]}


def settings_that_differ(left: Comparison, right: Comparison) -> dict[str, tuple[Any, Any]]:
    """By name. Settings follow the tasks, and those of the first task of each comparison count."""
    flat = [_flat(next(iter(comparison.settings.values()), {})) for comparison in (left, right)]
    keys = dict.fromkeys([*flat[0], *flat[1]])
    found = {key: (flat[0].get(key, "-"), flat[1].get(key, "-")) for key in keys}
    return {key: values for key, values in found.items() if values[0] != values[1]}


def _flat(settings: Any, start: str = "") -> dict[str, Any]:
    """`model.dim` for a setting inside another; hashes of problems are left out."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and key != "evaluation_set":
            found |= _flat(value, f"{start}{key}.")
        elif key != "evaluation_set":
            found[f"{start}{key}"] = value
    return found


def scores(left: Comparison, right: Comparison, names: list[str]) -> pd.DataFrame:
    """One row for each task and encoding of either, with the columns of both."""
    tables = [
        _scores(comparison).add_suffix(f", {name}") for comparison, name in zip((left, right), names, strict=True)
    ]
    return tables[0].join(tables[1], how="outer", sort=False).reset_index()


def _scores(comparison: Comparison) -> pd.DataFrame:
    frames = []
    for task in comparison.analysis.tasks:
        metric = comparison.metrics.get(task.task, "score")
        rows = frame(summary_table(task, metric, main_ranges(task), verdicts=False))
        wanted = [
            column for column in rows.columns if column not in ("verdict", "gap", "kept", "loss gap", "steps to learn")
        ]
        frames.append(rows[wanted].assign(task=task.task).set_index(["task", "encoding"]))
    return (
        pd.concat(frames) if frames else pd.DataFrame(index=pd.MultiIndex.from_tuples([], names=["task", "encoding"]))
    )
