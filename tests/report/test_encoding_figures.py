"""What pictures of encodings show, against the formulas that the encodings are made from."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects
import pytest
import torch
from PIL import Image

from ordinate import encodings
from ordinate.core.errors import InputError
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_effects import Setting
from ordinate.report import draw_matplotlib
from ordinate.report.chart import Chart, Figure, Heat, Panel, Series, data
from ordinate.report.colors import COLD, NEUTRAL, WARM, Style
from ordinate.report.draw_plotly import draw
from ordinate.report.encoding_figures import encoding_figures
from ordinate.report.table import comma_separated

SMALL = Setting(head_dim=16, heads=4, length=16, reach=48)
VARIANTS = [
    "rope(scaling=yarn,factor=4)", "rope(scaling=dynamic,factor=4)", "rope(fraction=0.5)", "rope(fraction=0)",
    "learned(beyond=clip)", "learned(beyond=interpolate)", "learned(rows=128)", "sinusoidal(size=none)",
    "cope(positions=8)", "shaw(values=false)", "fope(per_head=false)", "selective_rope(gate=true,bias=true)",
    "deberta(farthest=4)",
]  # fmt: skip


def figures(text: str, setting: Setting = SMALL) -> dict[str, Figure]:
    name = text.partition("(")[0]
    return {figure.name.removeprefix(f"{name}-"): figure for figure in encoding_figures(text, setting).figures}


def curves(figure: Figure) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    assert isinstance(figure, Chart)
    return {series.name: (np.array(series.x, float), np.array(series.y, float)) for series in figure.series}


def panels(figure: Figure) -> list[np.ndarray]:
    assert isinstance(figure, Heat)
    return [panel.values for panel in figure.panels]


def sound(found: dict[str, Figure]) -> None:
    """Drawable, finite where it says so, with names of their own."""
    for name, figure in found.items():
        assert figure.note and figure.title, name
        json.dumps(draw(figure), allow_nan=False)
        rows = [row for row in data(figure).rows if row[-1 if isinstance(figure, Heat) else 3] is not None]
        values = np.array([row[-1] if isinstance(figure, Heat) else row[3] for row in rows], dtype=float)
        assert len(values) and np.isfinite(values).all(), name
        assert values.min() < values.max(), f"{name} shows nothing"


@pytest.mark.parametrize("name", encodings.names())
@pytest.mark.parametrize(
    "setting", [SMALL, replace(SMALL, both_ways=True, grid=True, heads=5)], ids=["text", "all around"]
)
def test_every_encoding_has_sound_pictures(name: str, setting: Setting) -> None:
    if setting.both_ways and encodings.example(name).causal_only:
        with pytest.raises(InputError, match="causal attention alone"):
            encoding_figures(name, setting)
        return
    shown = encoding_figures(name, setting)
    assert len({figure.name for figure in shown.figures}) == len(shown.figures)
    assert bool(shown.figures) == (encodings.example(name).family != "none")
    assert shown.figures or "Nothing to draw" in shown.remarks[0]
    sound({figure.name: figure for figure in shown.figures})


@pytest.mark.parametrize("text", VARIANTS)
def test_variants_have_sound_pictures(text: str) -> None:
    found = figures(text)
    assert bool(found) == (text != "rope(fraction=0)")
    sound(found)


def test_the_score_of_a_turning_encoding_is_the_mean_of_its_cosines() -> None:
    found = figures("rope(base=100)")
    ((x, y),) = curves(found["score"]).values()
    theta = 100.0 ** (-np.arange(0, 16, 2) / 16)
    assert x.tolist() == list(range(48))
    assert y[0] == pytest.approx(1, abs=1e-5)
    assert np.allclose(y, np.cos(x[:, None] * theta).mean(axis=1), atol=1e-4)
    series = found["score"].series[0]  # type: ignore[union-attr]
    assert all(low <= mean <= high for low, mean, high in zip(series.low, series.y, series.high, strict=True))
    ((waves, channels),) = curves(found["wavelengths"]).values()
    assert np.isnan(waves[8]) and np.isnan(channels[8])  # no line back from the slowest channel to the next fast one
    assert np.allclose(np.delete(waves, 8), 2 * math.pi / np.tile(theta, 2), rtol=1e-5)
    assert np.delete(channels, 8).tolist() == list(range(16))
    (table,) = panels(found["channels"])
    assert np.allclose(table, np.cos(np.tile(theta, 2)[:, None] * np.arange(48)), atol=1e-5)


def test_slow_wavelengths_are_exact_and_still_channels_are_told() -> None:
    ((waves, _),) = curves(figures("rope(base=1000000000)")["wavelengths"]).values()
    assert np.nanmax(waves) == pytest.approx(2 * math.pi * 1e9 ** (14 / 16), rel=1e-4)
    half = figures("rope(fraction=0.5)")["wavelengths"]
    assert len(half.series[0].x) == 9 and "8 channels do not turn" in half.note  # type: ignore[union-attr]


def test_a_bias_is_its_slope_times_the_distance() -> None:
    found = figures("alibi")
    for head, (x, y) in enumerate(curves(found["bias"]).values(), start=1):
        assert np.allclose(y, -(2.0 ** (-8 * head / 4)) * x)
    matrix = panels(found["bias-matrix"])[0]
    rows, columns = np.indices(matrix.shape)
    assert np.isnan(matrix[columns > rows]).all()
    assert np.allclose(matrix[columns <= rows], -0.25 * (rows - columns)[columns <= rows])


def test_looking_both_ways_goes_below_zero() -> None:
    found = figures("alibi(sides=asymmetric,ratio=3)", replace(SMALL, both_ways=True))
    x, y = curves(found["bias"])["head 1"]
    assert x.tolist() == list(range(-47, 48))
    assert np.allclose(y, np.where(x < 0, 3 * x, -x) / 4)
    assert found["bias"].shade is not None and found["bias"].shade.low == -15  # type: ignore[union-attr]


def test_the_added_table_is_the_formula() -> None:
    (table,) = panels(figures("sinusoidal(size=none)")["table"])
    theta = 10_000.0 ** (-np.arange(0, 64, 2) / 64)
    angle = theta[:, None] * np.arange(48)
    assert np.allclose(table[0::2], np.sin(angle), atol=1e-5) and np.allclose(table[1::2], np.cos(angle), atol=1e-5)
    (matched,) = panels(figures("sinusoidal")["table"])
    assert np.allclose(matched, table * math.sqrt(2), atol=1e-5)  # as large as token embeddings of size 1
    (alike,) = panels(figures("sinusoidal")["similarity"])
    assert np.allclose(alike[0], np.cos(angle).mean(axis=0), atol=1e-5)


def test_past_the_trained_positions_clipped_rows_are_familiar_and_new_ones_are_not() -> None:
    clipped = curves(figures("learned(beyond=clip)")["past"])["most similar trained position"][1]
    fresh = curves(figures("learned(rows=48)")["past"])["most similar trained position"][1]
    assert np.allclose(clipped, 1, atol=1e-5) and np.allclose(fresh[:16], 1, atol=1e-5)
    assert fresh[16:].max() < 0.9


def test_a_refusal_is_told_in_the_encodings_words_and_drawing_ends_there() -> None:
    shown = encoding_figures("learned", SMALL)
    assert shown.refusal.startswith("position 47 is out of range: learned refuses from position 16 on")
    assert panels(shown.figures[0])[0].shape == (64, 16)
    assert not encoding_figures("learned", replace(SMALL, reach=16)).refusal


def test_what_starts_as_nothing_is_drawn_with_random_values() -> None:
    assert "random values in place of trained ones" in encoding_figures("cope", SMALL).remarks[0]
    assert "before training" in encoding_figures("t5", SMALL).remarks[0]


def test_where_a_query_stands_matters_the_trained_length_is_drawn_apart() -> None:
    assert set(curves(figures("fire", replace(SMALL, heads=1))["bias"])) == {"16 positions", "48 positions"}
    stretched = curves(figures("rope(scaling=dynamic,factor=4)")["score"])
    assert [len(x) for x, _ in stretched.values()] == [16, 48]


def test_attention_over_an_even_share_averages_one() -> None:
    for matrix in panels(figures("fox")["attention"]):
        assert np.allclose(np.nanmean(2**matrix, axis=1), 1, atol=1e-4)


def test_a_grid_is_drawn_around_its_middle() -> None:
    found = figures("rope_2d")["map"]
    assert isinstance(found, Heat) and found.first == -7
    (values,) = panels(found)
    assert values.shape == (15, 15) and values[7, 7] == pytest.approx(1, abs=1e-5) == values.max()
    assert ("", -7, -7) in [row[:3] for row in data(found).rows]
    forward = panels(figures("lookhere")["bias-map"])
    assert not all(np.isfinite(matrix).all() for matrix in forward) and all(matrix[7, 7] == 0 for matrix in forward)


def test_unit_vectors_are_bases_and_follow_the_seed() -> None:
    vectors = effects.unit_vectors(16, 3)
    assert torch.allclose(vectors[:16] @ vectors[:16].t(), torch.eye(16), atol=1e-5)
    assert torch.equal(vectors, effects.unit_vectors(16, 3)) and not torch.equal(vectors, effects.unit_vectors(16, 4))


def test_pictures_use_no_randomness_of_their_own() -> None:
    before = torch.random.get_rng_state()
    first, second = (comma_separated(data(figures("path")["change"])) for _ in range(2))
    assert first == second
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(("text", "words"), [("rop", "did you mean"), ("rope+t5", "one encoding at a time")])
def test_what_cannot_be_drawn_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        encoding_figures(text, SMALL)


def test_signed_colors_have_zero_in_the_middle() -> None:
    values = np.array([[-3.0, 0.0, 1.0]], dtype=np.float32)
    heat = Heat("n", "t", "position", "channel", (Panel("p", values),), 1, 2, signed=True, square=False, row_block=1,
                first=5, value="size")  # fmt: skip
    drawn = plotly.graph_objects.Figure(draw(heat)).to_plotly_json()
    scale = drawn["layout"]["coloraxis"]
    assert (scale["cmin"], scale["cmax"]) == (-3, 3)
    assert [color for _, color in scale["colorscale"]] == [COLD, NEUTRAL, WARM]
    assert "scaleanchor" not in drawn["layout"]["yaxis"]
    assert (drawn["data"][0]["x0"], drawn["data"][0]["dx"], drawn["data"][0]["dy"]) == (5, 2, 1)
    assert comma_separated(data(heat)).splitlines()[:2] == ["panel,channel,position,size", "p,5,5,-3.0"]
    assert draw(replace(heat, signed=False))["layout"]["coloraxis"]["cmin"] == 0
    colors = {color for _, color in _colors(heat)}
    assert {tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in (COLD, NEUTRAL)} <= colors


def _colors(heat: Heat) -> list[tuple[int, tuple[int, ...]]]:
    return Image.open(io.BytesIO(draw_matplotlib.save(heat)["png"])).convert("RGB").getcolors(maxcolors=10**6) or []


def test_a_curve_has_its_interval_as_an_area() -> None:
    series = Series("mean", (0, 1, 2), (1, 2, 3), Style("#0072B2"), "curve", "mean", (0, 1, 2), (2, 3, 4))
    chart = Chart("n", "t", "x", "y", (series,))
    area, line = draw(chart)["data"]
    assert area["fill"] == "toself" and area["y"] == [0, 1, 2, 4, 3, 2] and "meta" not in area
    assert line["mode"] == "lines" and "error_y" not in line and line["customdata"][0] == [0, 2]
    assert plotly.graph_objects.Figure(draw(chart)) and draw_matplotlib.save(chart)["png"]
    assert data(chart).rows[0] == ("mean", "curve", 0, 1, 0, 2)
