"""One list of columns: an entry added to it appears on every surface, and the gap is that of the seeds that count."""

import csv
import io

import pytest
from rich.console import Console

from ordinate.cli.train import show_result
from ordinate.report import render, summary
from ordinate.report.comparison_tables import matrix
from ordinate.report.comparison_tables import summary as full_summary
from ordinate.report.latex import latex
from ordinate.report.summary import SummaryColumn
from ordinate.report.table import comma_separated, markdown
from ordinate.report.terminal import table
from ordinate.store import Store
from ordinate.store.examples import open_examples
from ordinate.studies import study_store
from ordinate.studies.collect import collect
from ordinate.studies.study_state import StudyState

from .conftest import draw

ADDED = SummaryColumn(
    "half_score", "half score", lambda task, encoding: task.shown.cell(encoding).scores[0], help="a test", form=".4f"
)


def printed(thing: object) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(thing)
    return console.export_text()


def test_a_column_added_to_the_list_is_on_every_surface(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "COLUMNS", (*summary.COLUMNS, ADDED))
    (name,) = study_store.names(filled)
    kept = study_store.find(filled, name)
    state = StudyState(kept.study, filled)
    comparison = collect(state, kept.command)
    task = comparison.analysis.tasks[0]
    encoding = task.encodings[0]
    text = ADDED.shown(task, encoding)
    assert text

    shown = printed(table(task))
    assert "half score" in shown and text in shown

    made = full_summary(comparison, task)
    rows = list(csv.DictReader(io.StringIO(comma_separated(made))))
    assert float(rows[0]["half_score"]) == ADDED.value(task, encoding)
    assert "half score" in markdown(made) and text in markdown(made)
    assert "half score" in latex(made) and text in latex(made)
    for form in ("md", "tex", "html", "json"):
        assert ("half_score" if form == "json" else "half score") in render(comparison, form)
    assert f'title="{ADDED.help}"' in render(comparison, "html")
    assert "half_score" in [column.name for column in matrix(comparison).columns]

    page = draw("comparisons", study=name)
    frame = next(frame.value for frame in page.dataframe if "gap" in frame.value and "task" not in frame.value)
    assert frame["half score"][0] == pytest.approx(ADDED.value(task, encoding))

    arm = next(arm for arm in state.arms() if arm.encoding == encoding)
    config = state.reported_run(arm, 1)
    console = Console(width=200, record=True, file=io.StringIO())
    show_result(filled.run(config.id).result, config, console)
    assert "half score" in console.export_text()


def test_every_surface_has_the_same_titles(filled: Store) -> None:
    (name,) = study_store.names(filled)
    kept = study_store.find(filled, name)
    comparison = collect(StudyState(kept.study, filled), kept.command)
    task = comparison.analysis.tasks[0]
    titles = [column.title for column in full_summary(comparison, task).columns]
    brief = [column.title for column in summary.summary_columns(task, summary.main_ranges(task))]
    assert brief == [title for title in titles if title in brief] and {"verdict", "gap"} <= set(brief)
    page = draw("comparisons", study=name)
    assert any(list(frame.value.columns) == brief for frame in page.dataframe)
    head = printed(table(task)).splitlines()[0]
    assert all(title in head for title in brief)
    html = render(comparison, "html")
    assert all(f'class="sort">{title}<' in html for title in titles)


def test_the_gaps_are_means_of_the_runs_own_gaps() -> None:
    examples = open_examples()
    kept = study_store.find(examples)
    state = StudyState(kept.study, examples)
    task = collect(state, kept.command).analysis.tasks[0]
    columns = {column.name: column for column in summary.COLUMNS}
    known = 0
    for arm in state.arms():
        cell = task.shown.cell(arm.encoding)
        seeds = [seed for seed, counts in zip(cell.seeds, cell.counted, strict=True) if counts] or cell.seeds
        results = [examples.run(state.reported_run(arm, seed).id).result for seed in seeds]
        pairs = [(result.in_distribution, result.row(*task.shown.key)) for result in results]
        scores = [
            here.score - there.score for here, there in pairs if here.score is not None and there.score is not None
        ]
        losses = [there.loss - here.loss for here, there in pairs if here.loss is not None and there.loss is not None]
        for name, gaps in (("gap", scores), ("loss_gap", losses)):
            known += len(gaps)
            mean = columns[name].value(task, arm.encoding)
            assert (mean == pytest.approx(sum(gaps) / len(gaps), abs=5e-6)) if gaps else (mean is None), (name, arm)
    assert known
