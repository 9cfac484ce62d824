"""Tables for a paper fit on its page."""

import re

import pytest
from matplotlib import get_data_path
from matplotlib.font_manager import get_font

from ordinate.report import render
from ordinate.report.comparison_tables import tables
from ordinate.report.latex import SEPARATION, TEXT_HEIGHT_ROWS, TEXT_WIDTH, latex
from ordinate.report.table import Column, Table

from .sample import large, sample

EIGHT = 8 * 1.0625  # points; Computer Modern at 8 points is drawn wider than that at 10 in its proportion


def width(text: str) -> float:
    """In points, as Computer Modern sets it; of a bold text, a sixth more."""
    bold = "textbf" in text
    plain = re.sub(r"\\textbf\{(.*)\}", r"\1", text)
    plain = re.sub(r"\\text[a-z]+\{\}", "W", plain)
    plain = re.sub(r"\\([{}$&#%_])", r"\1", plain).replace("{}", "")
    font = get_font(f"{get_data_path()}/fonts/ttf/cmr10.ttf")
    font.set_size(EIGHT, 72)
    font.set_text(plain)
    return font.get_width_height()[0] / 64 * (1.17 if bold else 1)


def tabulars(text: str) -> list[tuple[list[str], list[list[str]]]]:
    """The kinds of columns and the rows of each table."""
    found = []
    for body in text.split(r"\begin{tabular}{")[1:]:
        kinds, rest = body.split("}\n\\toprule", 1)
        rows = [
            re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))
            for line in rest.split(r"\bottomrule")[0].splitlines()
            if line.endswith(r"\\")
        ]
        found.append((re.findall(r"[lr]|p\{\d+pt\}", kinds), rows))
    return found


@pytest.mark.parametrize("tasks", [("k_back(k=3)",), ("k_back(k=3)", "markers")])
def test_every_table_is_as_wide_as_a_page_at_most(tasks: tuple[str, ...]) -> None:
    found = tabulars(render(sample(tasks=tasks), "tex"))
    assert len(found) > 8
    for kinds, rows in found:
        total = 0.0
        for at, kind in enumerate(kinds):
            given = re.fullmatch(r"p\{(\d+)pt\}", kind)
            total += float(given[1]) if given else max(width(row[at]) for row in rows)
        assert total + 2 * SEPARATION * len(kinds) <= TEXT_WIDTH, rows[0]
        assert all(len(row) == len(kinds) for row in rows)
        assert len(rows) <= TEXT_HEIGHT_ROWS + 4  # of which some are titles


def test_no_value_is_lost_when_a_table_is_split() -> None:
    columns = tuple(Column(f"c{at}", f"column {at}") for at in range(20))
    rows = tuple(tuple(f"value {row} {at}" for at in range(20)) for row in range(TEXT_HEIGHT_ROWS + 5))
    found = tabulars(latex(Table("t", "Title", columns, rows)))
    printed = {cell for _, lines in found for line in lines for cell in line}
    assert {value for row in rows for value in row} <= printed
    assert all(lines[-1][0].endswith(" 0") for _, lines in found)  # the first column names the rows in each


def test_one_value_for_all_rows_is_in_the_caption() -> None:
    columns = (Column("task", "task"), Column("encoding", "encoding"), Column("x", "x"))
    text = latex(Table("t", "Title", columns, (("k_back", "a", 1), ("k_back", "b", 2)), note="A note."))
    assert r"\caption{Title. task: k\_back. A note}" in text and r"\begin{tabular}{lr}" in text


def test_many_rows_are_quick() -> None:
    pairs = next(table for table in tables(large(), cells="paper") if table.name == "results")
    assert latex(pairs).count(r"\toprule") == -(-len(pairs.rows) // TEXT_HEIGHT_ROWS)
