"""Pictures of probes show what was measured, and can be drawn."""

import json

import pytest

from ordinate.probes.encoding_probe import probe_encoding
from ordinate.report.chart import Chart
from ordinate.report.draw_matplotlib import save
from ordinate.report.draw_plotly import draw
from ordinate.report.probe_figures import encoding_probe_figures
from ordinate.report.probe_report import encoding_report, page


@pytest.mark.parametrize("text", ["binary", "rope", "alibi", "lookhere", "learned"])
def test_pictures_of_an_encoding(text: str) -> None:
    probe = probe_encoding(text)
    figures = {figure.name: figure for figure in encoding_probe_figures(probe)}
    assert figures.keys() == ({"steps", "alike"} if probe.vectors else {"content"})
    for figure in figures.values():
        assert figure.note and isinstance(figure, Chart)
        json.dumps(draw(figure), allow_nan=False)
    if probe.vectors:
        steps = figures["steps"]
        assert isinstance(steps, Chart)
        assert steps.series[0].y == pytest.approx(probe.vectors.steps, rel=1e-5)
    assert save(next(iter(figures.values())))["png"].startswith(b"\x89PNG")


def test_a_page_holds_words_and_pictures() -> None:
    text = page(encoding_report(probe_encoding("binary")))
    assert "it jumps: the step from 127 to 128" in text and "Steps from a position to the next" in text
    assert text.count('class="plot"') >= 5
