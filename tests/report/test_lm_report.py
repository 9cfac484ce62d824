"""What is said and drawn of evaluated language models."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ordinate.lm.evaluation.stored import read_evaluation, write_evaluation
from ordinate.report.chart import Chart, Heat, data
from ordinate.report.draw_matplotlib import save
from ordinate.report.draw_plotly import draw
from ordinate.report.lm_figures import change_by_context, figures, passkey_grid
from ordinate.report.lm_page import evaluation_page
from ordinate.report.lm_tables import all_tables, by_context, reach_words
from ordinate.report.lm_words import comparison, remarks
from ordinate.results.lm_evaluation import (
    ContextRow,
    InductionRow,
    LanguageModelEvaluation,
    PasskeyCell,
    PositionRow,
    ProblemRow,
)
from ordinate.statistics.document_losses import DocumentLosses

REFUSAL = "position 511 is out of range: it refuses from position 256 on"


def losses(mean: float, spread: float = 0.0) -> DocumentLosses:
    """Eight documents, some harder than others by the same at every context."""
    hard = np.linspace(-1, 1, 8)
    noise = spread * np.sin(np.arange(8) * 7.0)
    return DocumentLosses(tuple((100 * (mean + hard + noise)).tolist()), (100,) * 8, (300,) * 8)


def evaluation(name: str, rise: float, *, refuses: bool = False) -> LanguageModelEvaluation:
    """Loss 3 up to the trained length 256, then more by `rise` with every doubling."""
    rows = [ContextRow("disjoint", "all", 256, 256, "", losses(3.0))]
    for context in (128, 256, 512, 1024, 2048):
        out = refuses and context > 256
        own = None if out else losses(3.0 + rise * max(0.0, np.log2(context / 256)), 0.001)
        for protocol in ("disjoint", "sliding", "same targets", "key tokens"):
            rows.append(ContextRow(protocol, "long", context, context // 4, "", own, REFUSAL if out else ""))  # type: ignore[arg-type]
    cells = [PasskeyCell("digits", context, depth, 4, 0, 20, 5, 60.0) for context in (128, 512) for depth in (0.0, 1.0)]
    return LanguageModelEvaluation(
        name=name, sha256="ab" * 32, size="nano", encoding=name, seed=42, parameters=10, length=256, tokens=1000,
        decayed=True, remark="", past_range="computes", mix=0.0, corpus="c" * 64, documents=9, long_documents=8,
        long_tokens=2049, precision="float32", seconds=1.0, settings={"text": {"tolerance": 0.01}},
        contexts=tuple(rows), positions=(PositionRow(256, 1, 16, losses(4.0)), PositionRow(256, 17, 256, losses(3.0))),
        problems=(ProblemRow("copy", "in range", 0, 4, 1, 30, 9, 80.0, 1e-9, 1 / 26, 40),),
        passkey=tuple(cells), induction=(InductionRow(32, losses(8.0), losses(2.0)),),
    )  # fmt: skip


FLAT, STEEP, ENDING = evaluation("flat", 0.0), evaluation("steep", 0.04), evaluation("ending", 0.0, refuses=True)


def test_reach_is_said_with_what_happens_past_it() -> None:
    assert reach_words(FLAT.reach()) == "8.0x+"
    assert reach_words(STEEP.reach()).startswith("1.2x")  # 256 * 2 ** (0.01 / 0.04)
    assert reach_words(ENDING.reach()) == "1.0x"
    assert "changes by +0.000" in remarks(FLAT)[0] and "up to 8.0x+" in remarks(FLAT)[0]
    assert "rises by +0.120" in remarks(STEEP)[0]
    assert REFUSAL in remarks(ENDING)[0]
    assert any("cost 6.00 nats less the second time" in line for line in remarks(FLAT))
    assert any("none of its training sequences" in line for line in remarks(FLAT))
    undecayed = replace(FLAT, decayed=False, remark="the learning rate has not decayed")
    assert remarks(undecayed)[0] == "the learning rate has not decayed"


def test_models_are_compared_on_the_same_tokens_only() -> None:
    worse = replace(FLAT, name="worse", contexts=(replace(FLAT.contexts[0], losses=losses(3.2, 0.01)),))
    lines = comparison([worse, STEEP])
    assert "steep has 0.201 nats per token less loss than worse" in lines[0]
    assert "One training seed each" in lines[-1]
    assert comparison([FLAT, replace(STEEP, corpus="d" * 64)]) == [] == comparison([FLAT])


def test_contexts_that_are_refused_are_not_available_in_tables_and_gaps_in_pictures() -> None:
    table = by_context([ENDING])
    row = next(row for row in table.rows if row[1] == "disjoint")
    assert [cell for cell in row if cell == "n/a"] == ["n/a"] * 3
    chart = change_by_context([FLAT, ENDING])
    assert isinstance(chart, Chart) and [len(series.x) for series in chart.series] == [5, 2]


def test_every_picture_is_drawn_on_pages_and_in_print() -> None:
    drawn = figures([FLAT, STEEP, ENDING])
    assert [figure.name for figure in drawn] == [
        "change-by-context", "loss-by-position", "loss-by-context", "passkey", "induction",
    ]  # fmt: skip
    for figure in drawn:
        assert draw(figure)["data"] and save(figure)["png"] and data(figure).rows


def test_the_passkey_grid_names_its_rows_and_columns() -> None:
    heat = passkey_grid([FLAT])
    assert isinstance(heat, Heat) and heat.top == 1.0
    assert data(heat).rows[0] == ("in digits", "0", "0.5x", 0.25)
    layout = draw(heat)["layout"]
    assert layout["xaxis"]["ticktext"] == ["0.5x", "2x"] and layout["yaxis"]["ticktext"] == ["0", "1"]


def test_names_are_escaped_on_the_page() -> None:
    page = evaluation_page([replace(FLAT, name="<script>alert(1)</script>"), STEEP])
    assert "<script>alert(1)" not in page and "Past the trained length: computes" in page
    assert all(table.rows for table in all_tables([FLAT]))


def test_an_evaluation_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "eval.json"
    write_evaluation(path, ENDING)
    assert read_evaluation(path) == ENDING
