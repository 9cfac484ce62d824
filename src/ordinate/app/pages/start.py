"""Start: what this is, what was found so far, how to read it, and where to go first."""

import html
from urllib.parse import urlencode

import streamlit as st

from ordinate.app.figure_view import plain
from ordinate.app.navigation import open_page
from ordinate.report.overview import OverviewCell, OverviewRow, columns, shipped_overview
from ordinate.statistics.phrases import called

PURPOSE = (
    "A transformer sees a set of tokens; a **positional encoding** tells it their order. Ordinate trains the same "
    "small model with each encoding on the same tasks, tests it on longer sequences than it was trained on, and says "
    "which encoding to use, and whether the difference is more than luck."
)
STYLE = """<style>
.overview {overflow-x: auto}
.overview table {border-collapse: separate; border-spacing: 3px; width: 100%; font-size: 0.95rem}
.overview th:first-child {white-space: normal}
.overview th {text-align: left; font-weight: 600; padding: 0.3rem 0.5rem; white-space: nowrap}
.overview th code {display: block; font-weight: 400; opacity: 0.75; white-space: normal; background: none; padding: 0}
.overview td {padding: 0; border-radius: 6px}
.overview td a {display: block; padding: 0.45rem 0.5rem; color: inherit; text-decoration: none; white-space: nowrap}
.overview td a:hover, .overview td a:focus {outline: 2px solid #0072B2; border-radius: 6px}
.overview td small {display: block; opacity: 0.75}
.overview td.use a {font-weight: 700}
.overview td.verdict a {white-space: normal; min-width: 9rem}
@media (max-width: 700px) {.overview table {font-size: 0.68rem; border-spacing: 2px}
  .overview th, .overview td a {padding: 0.25rem 0.12rem; white-space: normal; letter-spacing: -0.02em}
  .overview th code, .overview .verdict {display: none}}
</style>"""


def page() -> None:
    st.title("Which positional encoding?", anchor=False)
    st.markdown(PURPOSE)
    rows = shipped_overview()
    first = _example(rows)
    with st.container(horizontal=True):
        if st.button(f"See a finished comparison: {first.task}", type="primary", icon=":material/bar_chart:"):
            open_page("comparisons", study=first.study)
        if st.button("Compare encodings yourself", icon=":material/balance:"):
            open_page("compare", task=first.task)
        if st.button("How an encoding works", icon=":material/sort:"):
            open_page("encodings")
    st.subheader("What was found so far", anchor=False)
    st.markdown(reading(first))
    st.html(STYLE + table(rows))
    with st.expander("The tasks in words", icon=":material/help:"):
        for row in rows:
            st.markdown(f"**{plain(row.task)}**: {plain(row.words)}")


def _example(rows: tuple[OverviewRow, ...]) -> OverviewRow:
    """The task on which encodings differ most in how far they hold."""
    return max(rows, key=lambda row: len({round(cell.reach or 0, 1) for cell in row.cells.values()}))


def reading(row: OverviewRow) -> str:
    """How to read the table, by one of its cells."""
    name, cell = max(
        ((name, cell) for name, cell in row.cells.items() if cell.reach is not None and not cell.at_least),
        key=lambda item: item[1].reach or 0,
    )
    assert cell.reach is not None
    bar = "the bar" if row.bar is None else f"an accuracy of {row.bar:g}"
    least = f"**{cell.learned} of {cell.seeds}** training runs, which differ in their random seed, learned the task."
    return (
        f"To read it, take {name} on {row.task}. {least} **{cell.reach:.1f}x**: trained on sequences of "
        f"up to {row.trained} tokens, half of these runs keep {bar} or more on sequences {cell.reach:.1f} times as "
        f"long, {cell.reach * row.trained:.0f} tokens. 1.0x: no further than the trained length; +: as far as was "
        "tested; *not learned*: not within the budget of training steps; *still rising*: cut there while it was "
        "still learning. The verdict goes by tests of the scores "
        "beyond the trained length, best mean first (**bold**), not by this number alone. Click a cell for the "
        "comparison behind it, with intervals and with all its encodings."
    )


def table(rows: tuple[OverviewRow, ...]) -> str:
    """Tasks by encodings in HTML; every cell leads to its comparison."""
    names = columns(rows)
    head = "".join(f"<th>{html.escape(called(name)).replace(' (', '<br>(')}</th>" for name in names)
    lines = [f'<tr><th>task, with one problem and its answer</th>{head}<th class="verdict">verdict</th></tr>']
    for row in rows:
        link = html.escape("/?" + urlencode({"page": "comparisons", "study": row.study}))
        cells = "".join(_cell(row, name, link) for name in names)
        verdict = f'<td class="verdict"><a href="{link}" target="_self">{html.escape(row.verdict)}</a></td>'
        task = f"<th>{html.escape(row.task)}<code>{html.escape(row.example)}</code></th>"
        lines.append(f"<tr>{task}{cells}{verdict}</tr>")
    return f'<div class="overview"><table>{"".join(lines)}</table></div>'


def _cell(row: OverviewRow, name: str, link: str) -> str:
    cell = row.cells.get(name)
    if cell is None:
        return "<td></td>"
    unlearned = "still rising" if cell.rising else "not learned"
    reach = unlearned if cell.reach is None else f"{cell.reach:.1f}x{'+' * cell.at_least}"
    what = html.escape(f"{name} on {row.task}: {cell.learned} of {cell.seeds} seeds learned it")
    text = f"{reach}<small>{cell.learned} of {cell.seeds}</small>"
    return (
        f'<td class="{"use" if cell.use else ""}" style="background: {_color(cell)}">'
        f'<a href="{link}" target="_self" title="{what}">{text}</a></td>'
    )


def _color(cell: OverviewCell) -> str:
    """Green, the more the further most seeds hold; legible on light and on dark ground."""
    reach = min(4.0, cell.reach or 0.0)
    return f"rgba(0, 158, 115, {0.08 + 0.15 * max(0.0, reach - 1):.2f})" if cell.reach else "rgba(128, 128, 128, 0.15)"
