"""The first page: what this is, what was found, and where each cell leads."""

import re
import sys
from subprocess import run

from ordinate.app.pages.start import reading, table
from ordinate.report.overview import columns, shipped_overview
from ordinate.store import Store
from ordinate.store.examples import open_examples
from ordinate.studies import study_store

from .conftest import draw


def test_it_says_what_this_is_and_where_to_go(own: Store) -> None:
    at = draw("start")
    assert not at.exception and not at.error
    assert any("positional encoding" in text.value and "which encoding to use" in text.value for text in at.markdown)
    assert at.button[0].label.startswith("See a finished comparison")
    (tasks,) = (box for box in at.expander if box.label == "The tasks in words")
    assert len(tasks.markdown) == len(shipped_overview()) and "k steps back" in " ".join(
        t.value for t in tasks.markdown
    )


def test_every_cell_leads_to_a_shipped_comparison_of_its_task() -> None:
    rows = shipped_overview()
    assert len(rows) >= 4
    for row in rows:
        study = study_store.find(open_examples(), row.study).study
        assert row.task in study.tasks and set(row.cells) <= set(study.encodings)
        links = re.findall(r'href="/\?page=comparisons&amp;study=(\w+)"', table((row,)))
        assert links == [row.study] * (len(row.cells) + 1)  # the verdict leads there too


def test_the_example_of_how_to_read_it_multiplies_the_trained_length() -> None:
    for row in shipped_overview():
        text = reading(row)
        times, tokens = re.findall(r"([\d.]+) times as long, (\d+) tokens", text)[0]
        assert abs(float(times) * row.trained - int(tokens)) <= 0.05 * row.trained + 1
        assert any(f"{name} on {row.task}" in text for name in columns(shipped_overview()))


def test_it_does_not_wait_for_torch() -> None:
    modules = "ordinate.app.navigation, ordinate.app.running_view, ordinate.app.pages.start"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
