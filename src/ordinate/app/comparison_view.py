"""A comparison as its report would show it, on a page of the app."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from ordinate.app import figure_view, why_choice
from ordinate.app.figure_view import plain
from ordinate.report import FORMATS, render
from ordinate.report.chart import Chart
from ordinate.report.comparison_tables import tables
from ordinate.report.figures import figures
from ordinate.report.glossary import used
from ordinate.report.outcomes import MATRIX_NOTE, outcomes
from ordinate.report.summary import main_ranges, summary_columns, summary_table
from ordinate.report.table import Table, comma_separated, first_rows, is_number, shown
from ordinate.report.verdict_reason import task_reason
from ordinate.results.comparison import Comparison
from ordinate.statistics.alarms import alarm_lines
from ordinate.statistics.phrases import called
from ordinate.statistics.sentences import sentences
from ordinate.statistics.types import TaskAnalysis
from ordinate.store import Store

MOST_TASKS = 20  # that are shown one by one
MOST_RANGES = 60  # columns of a summary
MOST_ROWS = 5_000  # of a table on the page

_MIME = {"html": "text/html", "md": "text/markdown", "csv": "text/csv", "tex": "text/x-tex", "json": "application/json"}


def show(comparison: Comparison, key: str, *, beside: int = 2, store: Store | None = None) -> None:
    """Verdicts, summary, charts (`beside` per row), tables, and the report to download.

    Two comparisons on one page differ in `key`. store: where its runs are; none for results from a file, which have no
    reasons.
    """
    if comparison.analysis.preliminary and comparison.analysis.tasks:
        st.warning("Preliminary: " + plain("; ".join(comparison.analysis.preliminary)), icon=":material/hourglass:")
    if comparison.failures:
        _failures(comparison)
    if not comparison.analysis.tasks:
        st.info("No run is finished yet. Results appear here.", icon=":material/hourglass:")
        return
    if store is not None and why_choice.choose(f"{key}-view"):
        from ordinate.app import why_view

        why_view.show_comparison(comparison, store, key)
        return
    drawn = figures(comparison)
    shown_tasks = comparison.analysis.tasks[:MOST_TASKS]
    if (count := len(comparison.analysis.tasks)) > MOST_TASKS:
        st.info(f"The first {MOST_TASKS} of {count:,} tasks are shown one by one; all are in the reports below.")
    for task in shown_tasks:
        _task(comparison, task, [f for f in drawn if isinstance(f, Chart) and f.task == task.task], key, beside)
    families = [figure for figure in drawn if isinstance(figure, Chart) and not figure.task]
    if families:
        st.subheader("Families of tasks")
        figure_view.show_rows(families, key, beside)
    if comparison.analysis.limits:
        st.subheader("Limits of these data")
        st.markdown("\n".join(f"- {plain(limit)}" for limit in comparison.analysis.limits))
    _tables(comparison, key)
    _take_home(comparison, key)


def _failures(comparison: Comparison) -> None:
    count = len(comparison.failures)
    st.error(f"{count} run{'s' * (count != 1)} failed and {'is' if count == 1 else 'are'} not in the tables.")
    with st.expander("Their errors"):
        st.dataframe(pd.DataFrame(list(comparison.failures.items()), columns=["run", "error"]), hide_index=True)


def _task(comparison: Comparison, task: TaskAnalysis, charts: list[Chart], key: str, beside: int) -> None:
    st.subheader(plain(task.task), anchor=False)
    first, *rest = sentences(comparison.analysis, task)
    box = {"success": st.success, "info": st.info, "warning": st.warning}[task.verdict.level]
    box(plain(first), icon=":material/gavel:")
    if rest:
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in rest))
    if why := task_reason(comparison, task):
        st.markdown(f"**Why.** {plain(why)}")
    if task.alarms:
        with st.expander(f"Know before you believe it: {len(task.alarms)} note{'s' * (len(task.alarms) != 1)}"):
            st.markdown("\n".join(f"- **{kind}**: {plain(words)}" for kind, words in alarm_lines(task.alarms)))
    metric = comparison.metrics.get(task.task, "score")
    table = summary_table(task, metric, main_ranges(task), verdicts=False)
    st.dataframe(
        frame(table), hide_index=True, placeholder="", key=f"{key}-{task.task}-summary", column_config=_config(task),
        column_order=_narrow_order(task) if beside == 1 else None,
    )  # fmt: skip
    st.caption(plain(table.note))
    _pairs(task, key)
    _words([first, *rest, table.note, *(words for _, words in alarm_lines(task.alarms))])
    figure_view.show_rows(charts, f"{key}-{task.task}", beside)
    files = {p.encoding: p.attention for p in comparison.profiles if p.task == task.task}
    maps = {
        encoding: figure_view.KeptAttention(path, task.task)
        for encoding in task.encodings  # the best first
        if (path := files.get(encoding)) is not None
    }
    figure_view.choose_attention(maps, f"{key}-{task.task}", what="Encoding")


def _narrow_order(task: TaskAnalysis) -> list[str]:
    """The columns of the summary that fit into half of a window; the page of the comparison has all."""
    columns = summary_columns(task, main_ranges(task), verdicts=False)
    return [column.title for column in columns if column.name in ("encoding", "learned", "reach") or column.range]


def _pairs(task: TaskAnalysis, key: str) -> None:
    """Every encoding against every other."""
    found = outcomes(task)
    if not found:
        return
    rows = [
        {"encoding": called(row)} | {called(name): cells[name].short if name in cells else "" for name in found}
        for row, cells in found.items()
    ]
    with st.expander("Every pair: which is better, and by what", expanded=True):
        st.dataframe(pd.DataFrame(rows), hide_index=True, placeholder="", key=f"{key}-{task.task}-outcomes")
        st.caption(plain(MATRIX_NOTE))


def _words(texts: list[str]) -> None:
    with st.expander("What the words mean"):
        st.markdown("\n".join(f"- **{plain(term.name)}**: {plain(term.meaning)}" for term in used(texts)))


def frame(table: Table) -> pd.DataFrame:
    """A table as a data frame: numbers stay numbers, so that the page sorts them."""
    columns: dict[str, list[object]] = {}
    for index, column in enumerate(table.columns):
        values = [row[index] for row in table.rows]
        number = is_number(index, table) or (column.form and all(value is None for value in values))
        columns[column.title] = list(values) if number else [shown(value, column) for value in values]
    return pd.DataFrame(columns)


def _config(task: TaskAnalysis) -> dict[str, Any]:
    """Help of the summary's columns, and three digits for numbers."""
    number, other = partial(st.column_config.NumberColumn, format="%.3f"), st.column_config.Column
    columns = summary_columns(task, main_ranges(task))
    return {column.title: (number if column.form else other)(help=column.help or None) for column in columns}


def _tables(comparison: Comparison, key: str) -> None:
    st.subheader("Tables", anchor=False)
    shown_tasks = [task for task in comparison.analysis.tasks[:MOST_TASKS] if len(task.ranges) <= MOST_RANGES]
    for table in tables(comparison, shown_tasks):
        with st.expander(plain(table.title)):
            if len(table.rows) > MOST_ROWS:
                st.caption(f"The first {MOST_ROWS:,} of {len(table.rows):,} rows; the download has all.")
            rows = frame(first_rows(table, MOST_ROWS))
            st.dataframe(rows, hide_index=True, placeholder="", key=f"{key}-table-{table.name}")
            if table.note:
                st.caption(plain(table.note))
            st.download_button(
                "As CSV", partial(comma_separated, table), f"{table.name}.csv", "text/csv",
                key=f"{key}-csv-{table.name}", on_click="ignore", type="tertiary", icon=":material/download:",
            )  # fmt: skip


def _take_home(comparison: Comparison, key: str) -> None:
    st.subheader("Take it home", anchor=False)
    with st.container(horizontal=True):
        for form in FORMATS:
            name = "Report (one HTML file)" if form == "html" else form
            st.download_button(
                name, partial(_document, comparison, form),
                f"ordinate-{comparison.id}.{form}", _MIME[form], key=f"{key}-report-{form}", on_click="ignore",
                type="primary" if form == "html" else "secondary", icon=":material/download:",
            )  # fmt: skip
    st.caption("The command that makes it again:")
    st.code(comparison.command, language="shell", wrap_lines=True)


def _document(comparison: Comparison, form: str) -> bytes:
    return render(comparison, form).encode("utf-8", "backslashreplace")
