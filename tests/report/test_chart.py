"""What pictures show, and that both who draw them can."""

import io
import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ordinate.report import draw_matplotlib, render
from ordinate.report.chart import Chart, Heat, data, file_names, short, thin
from ordinate.report.colors import PALETTE, styles
from ordinate.report.draw_plotly import draw
from ordinate.report.figures import figures
from ordinate.report.ranking import claimed, joined
from ordinate.report.table import comma_separated
from ordinate.results.comparison import Comparison, Curve
from ordinate.statistics.analyze import analyze
from ordinate.statistics.observations import Observation
from ordinate.statistics.ranks import AverageRanks

from .sample import SIX, large, sample


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return sample(maps=tmp_path_factory.mktemp("maps"), tasks=("k_back(k=3)", "markers"))


def chart(comparison: Comparison, name: str) -> Chart:
    found = next(figure for figure in figures(comparison) if figure.name == name)
    assert isinstance(found, Chart)
    return found


def test_the_usual_encodings_have_six_colors_that_they_keep_in_any_company() -> None:
    together = styles(SIX)
    assert len({style.color for style in together.values()}) == len(SIX)
    assert len({style.marker for style in together.values()}) == len(SIX)
    for name in SIX:
        assert styles([name])[name] == together[name]
    assert styles(reversed(SIX)) == together
    assert styles([*SIX, *SIX]) == together


def test_many_names_stay_apart() -> None:
    many = styles(f"encoding {index}" for index in range(32))
    assert len({(style.color, style.dash) for style in many.values()}) == 32
    assert len(styles(f"encoding {index}" for index in range(100))) == 100


def test_a_color_is_only_given_up_for_one_before_it_in_the_alphabet() -> None:
    names = [f"name{index}" for index in range(8)]
    together = styles(names)
    assert len({style.color for style in together.values()}) == 8
    for name in names:
        own = styles([name])[name]
        if together[name] != own:
            assert any(other < name and styles([other])[other].color == own.color for other in names)


# How colors look to people without one kind of cone: Machado, Oliveira and Fernandes (2009), full severity.
BLINDNESS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


@pytest.mark.parametrize("kind", [None, *BLINDNESS])
def test_colors_are_told_apart_by_everyone(kind: str | None) -> None:
    seen = [_oklab(color, kind) for color in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 0.07


def _oklab(color: str, kind: str | None) -> np.ndarray:
    values = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    if kind:
        linear = np.clip(np.array(BLINDNESS[kind]) @ linear, 0, 1)
    cones = [
        [0.41222147, 0.53633254, 0.05144599],
        [0.2119035, 0.68069955, 0.10739696],
        [0.08830246, 0.28171884, 0.6299787],
    ]
    lab = [
        [0.21045426, 0.79361779, -0.00407205],
        [1.9779985, -2.42859221, 0.45059371],
        [0.0259040, 0.78277177, -0.80867577],
    ]
    return np.array(lab) @ np.cbrt(np.array(cones) @ linear)


def test_names_of_files_are_safe_and_all_different() -> None:
    names = ["a/b", "a b", "../../etc", "", "ROPE", "rope", "x" * 300, "<script>"]
    found = file_names(names)
    assert len(set(found.values())) == len(names)
    assert all(name.replace("-", "").replace("_", "").replace(".", "").isalnum() for name in found.values())
    assert not any(name.startswith(".") or "/" in name or len(name) > 90 for name in found.values())


def test_points_are_thinned_evenly_with_both_ends() -> None:
    assert thin(7, 10) == list(range(7))
    chosen = thin(10_001, 500)
    assert len(chosen) == len(set(chosen)) == 500
    assert (chosen[0], chosen[-1]) == (0, 10_000)
    assert max(np.diff(chosen)) - min(np.diff(chosen)) <= 1


def test_long_names_are_shortened_in_the_middle() -> None:
    assert short("rope") == "rope"
    assert len(short("x" * 200)) == 40


def test_out_of_distribution_seeds_that_did_not_learn_the_task_are_drawn_but_in_no_mean(comparison: Comparison) -> None:
    drawn = chart(comparison, "k_back-k-3-length")
    mean = {series.name: series for series in drawn.series if series.look == "mean"}
    behind = {series.name: series for series in drawn.series if series.look == "seed"}
    assert mean["none"].y[0] is not None
    assert mean["none"].y[1:] == (None, None, None)
    assert mean["none"].label == "none (learned by 0 of 5)"
    assert mean["learned"].y[2:] == (None, None)
    assert "seeds that did not learn the task are drawn but in no mean" in drawn.note
    *_, late, later = comparison.analysis.tasks[0].ranges
    assert f"learned: out of range, so no point at {late.name} to {later.length}." in drawn.note
    points = {name: sum(y is not None for y in series.y) for name, series in behind.items()}
    task = comparison.analysis.tasks[0]
    for name in SIX:
        cells = [cell for r in task.ranges for cell in r.cells if cell.encoding == name]
        assert points[name] == sum(score is not None for cell in cells for score in cell.scores)


def test_lengths_have_their_floor_their_chance_and_the_trained_range(comparison: Comparison) -> None:
    drawn = chart(comparison, "k_back-k-3-length")
    floor = next(series for series in drawn.series if series.name == "floor")
    assert dict(zip(floor.x, floor.y, strict=True)) == {r.length: r.floor for r in comparison.analysis.tasks[0].ranges}
    assert drawn.shade is not None and (drawn.shade.low, drawn.shade.high) == (8, 32)
    assert [line.y for line in drawn.lines] == [0.95]


def test_shifted_scores_are_rings_and_one_length_has_its_floor_as_a_level() -> None:
    observed = [
        Observation("t", name, seed, split, 32, score, 0.1, 0.2, 1000)
        for name, shifted in (("a", 0.9), ("b", 0.5))
        for seed in range(3)
        for split, score in (("id", 1.0), ("shift", shifted + seed / 100))
    ]
    drawn = chart(replace(sample(), analysis=analyze(observed)), "t-length")
    rings = {series.name: series.y[0] for series in drawn.series if series.look == "rings"}
    assert rings == pytest.approx({"a, shifted": 0.91, "b, shifted": 0.51})
    assert {line.label: line.y for line in drawn.lines} == {"bar 0.95": 0.95, "floor": 0.2, "chance": 0.1}
    assert "Rings" in drawn.note and draw(drawn)["data"]


def test_a_task_scored_by_loss_has_no_bar_and_keeps_all_seeds(comparison: Comparison) -> None:
    drawn = chart(comparison, "markers-length")
    assert drawn.lines == ()
    assert drawn.y_range is None
    assert "lower is better" in drawn.y_title
    assert all(None not in series.y for series in drawn.series if series.look == "mean")


def test_the_mean_of_learning_curves_ends_where_a_seed_does(comparison: Comparison) -> None:
    first, *rest = comparison.curves
    ended = replace(first, steps=first.steps[:4], values=(*first.values[:3], None))
    drawn = chart(replace(comparison, curves=(ended, *rest)), "k_back-k-3-learning")
    mean = next(series for series in drawn.series if series.look == "mean" and series.name == first.encoding)
    same = [curve for curve in rest if (curve.task, curve.encoding) == (first.task, first.encoding)]
    assert mean.y[0] == pytest.approx(np.mean([curve.values[0] for curve in (first, *same)]))
    assert None not in mean.y[:3] and mean.y[3:] == (None,) * 7


def test_many_seeds_and_long_curves_are_thinned_and_said_to_be() -> None:
    many = large(encodings=2, seeds=40, tasks=1)
    steps = tuple(range(5000))
    curves = tuple(Curve(c.task, c.encoding, c.seed, steps, tuple(0.5 for _ in steps)) for c in many.curves)
    found = {figure.name: figure for figure in figures(replace(many, curves=curves)) if isinstance(figure, Chart)}
    learning, length = found["task_0-learning"], found["task_0-length"]
    assert all(len(series.x) <= 500 for series in learning.series if series.look == "mean")
    seeds = [series for series in learning.series if series.look == "seed"]
    assert all(series.x.count(None) == 29 for series in seeds)
    assert sum(len(series.x) for series in seeds) <= 61_000
    assert "30 seeds" in learning.note and "30 seeds" in length.note


def test_the_sweep_marks_what_is_used(comparison: Comparison) -> None:
    drawn = chart(comparison, "k_back-k-3-rates")
    sweep = next(sweep for sweep in comparison.sweeps if sweep.task == "k_back(k=3)" and sweep.encoding == "rope")
    series = {series.name: series for series in drawn.series}
    assert drawn.log_x
    assert series["rope, used"].x == sweep.used == sweep.tied and sweep.chosen in sweep.used
    assert "edge of the grid" in drawn.note and "diverged at 0.01" in drawn.note


def test_ranks_stand_at_their_average_and_bars_join_what_no_test_tells_apart(comparison: Comparison) -> None:
    task = comparison.analysis.tasks[0]
    ranks = task.ranges[task.headline].ranks
    assert ranks is not None and ranks.critical_difference is not None
    drawn = chart(comparison, "k_back-k-3-ranks")
    rows = {name: row for row, name in drawn.y_ticks}
    dots = {series.name: series for series in drawn.series if series.look == "points"}
    assert {name: series.x[0] for name, series in dots.items()} == ranks.average
    assert all(series.y[0] == rows[name] for name, series in dots.items())
    names = {row: name for name, row in rows.items()}
    bars = [series.y for series in drawn.series if series.name == "not told apart"]
    under = [{names[row] for row in range(int(low), int(high) + 1)} for high, low in bars if high and low]
    assert [set(group) for group in joined(ranks, claimed(task))] == under and under
    assert any(pair <= set(group) for pair in claimed(task) for group in ranks.groups)  # ranks alone would join these
    assert not any(pair <= group for pair in claimed(task) for group in under)
    assert "weaker test" in drawn.note  # claims are made by pairs alone
    length = next(series for series in drawn.series if series.name == "critical difference")
    assert length.x[1] - length.x[0] == pytest.approx(ranks.critical_difference)


@given(st.data())
def test_joined_groups_are_the_longest_without_a_claimed_pair(data: st.DataObject) -> None:
    names = list("abcdef")
    averages = sorted(data.draw(st.lists(st.floats(1, 6), min_size=6, max_size=6)))
    ranks = AverageRanks(dict(zip(names, averages, strict=True)), {}, 6, data.draw(st.floats(0.1, 6)), None)
    apart = {frozenset(pair) for pair in data.draw(st.lists(st.sampled_from(list(itertools.combinations(names, 2)))))}
    runs = [tuple(names[i:j]) for i in range(6) for j in range(i + 2, 7)]
    fine = [
        run for run in runs
        if any(set(run) <= set(group) for group in ranks.groups)
        and not any(frozenset(pair) in apart for pair in itertools.combinations(run, 2))
    ]  # fmt: skip
    longest = [run for run in fine if not any(set(run) < set(other) for other in fine)]
    assert sorted(joined(ranks, apart)) == sorted(longest)


def test_attention_of_the_best_comes_first_with_one_head_large_and_all_small(comparison: Comparison) -> None:
    for task in comparison.analysis.tasks:
        maps = [figure for figure in figures(comparison) if isinstance(figure, Heat) and figure.task == task.task]
        assert [heat.group for heat in maps[::2]] == [heat.group for heat in maps[1::2]] == list(task.encodings)
        for one, every in zip(maps[::2], maps[1::2], strict=True):
            assert len(one.panels) == 1 and len(every.panels) == 8
            assert one.panels[0].title == every.panels[0].title  # the first of those in their order
            assert {panel.title for panel in every.panels} == {f"L{i} H{j}" for i in (1, 2) for j in (1, 2, 3, 4)}
            assert np.allclose(one.panels[0].values.sum(axis=1), 1, atol=1e-5)
            assert np.array_equal(one.panels[0].values, every.panels[0].values)


def test_large_maps_are_pooled_and_said_to_be(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    profile = sample(maps=tmp_path).profiles[0]
    weights = np.random.default_rng(0).random((1, 20, 600, 600), dtype=np.float32)
    assert profile.attention is not None
    save_file({"layer_0": weights / weights.sum(axis=-1, keepdims=True), "layer_1": weights}, profile.attention)
    one, heat = (f for f in figures(replace(sample(), profiles=(profile,))) if isinstance(f, Heat))
    assert [panel.title for panel in heat.panels] == ["layer 1", "layer 2"]
    assert (heat.block, heat.panels[0].values.shape) == (3, (200, 200))
    assert np.allclose(heat.panels[0].values.sum(axis=1) * 3, 1, atol=1e-4)
    assert "Mean over the heads" in heat.note and "3 by 3" in heat.note
    assert one.block == 3 and "3 by 3" in one.note and not one.marks and not one.labels and not one.panels[0].rows


@pytest.mark.parametrize("content", [None, b"not a file of tensors"])
def test_a_lost_or_damaged_map_is_told(tmp_path: Path, content: bytes | None) -> None:
    profile = sample(maps=tmp_path).profiles[0]
    assert profile.attention is not None
    profile.attention.unlink()
    if content:
        profile.attention.write_bytes(content)
    heat = next(f for f in figures(replace(sample(), profiles=(profile,))) if isinstance(f, Heat))
    assert heat.panels == () and "cannot be read" in heat.note


@pytest.mark.parametrize("hole", [np.nan, np.inf])
def test_a_run_that_diverged_takes_no_picture_with_it(tmp_path: Path, hole: float) -> None:
    from safetensors.numpy import save_file

    whole = sample(maps=tmp_path)
    for profile, share in zip(whole.profiles, (0.5, 1.0), strict=False):
        weights = np.full((1, 1, 8, 8), 0.125, dtype=np.float32)
        weights[..., : int(8 * share)] = hole
        assert profile.attention is not None
        save_file({"layer_0": weights}, profile.attention)
    first, *rest = whole.curves
    broken = replace(whole, curves=(replace(first, values=(0.5, hole, *first.values[2:])), *rest))
    drawn = figures(broken)
    heats = [figure for figure in drawn if isinstance(figure, Heat)]
    tops = [next(heat.top for heat in heats if heat.group == p.encoding) for p in broken.profiles[:2]]
    assert tops == [0.125, 1.0] and sum("the run diverged" in heat.note for heat in heats) == 4
    diverged = [heat for heat in heats if "the run diverged" in heat.note]
    for figure in (*diverged, chart(broken, "k_back-k-3-learning")):
        json.dumps(draw(figure), allow_nan=False)
        assert draw_matplotlib.save(figure)["png"]
        assert not {"nan", "inf"} & set(comma_separated(data(figure)).replace("\n", ",").split(","))
    assert "</html>" in render(broken, "html")


def test_plotly_takes_every_picture_and_shows_its_numbers(comparison: Comparison) -> None:
    for figure in figures(comparison):
        drawn = plotly.graph_objects.Figure(draw(figure))  # refuses what plotly does not know
        assert len(drawn.data) == len(figure.panels if isinstance(figure, Heat) else figure.series)  # nothing is marked
        if isinstance(figure, Chart):
            for trace, series in zip(drawn.data, figure.series, strict=True):
                shown = [y for y in trace.y if y is not None]
                assert shown == pytest.approx([y for y in series.y if y is not None], rel=1e-5)


def test_names_cannot_use_the_markup_that_plotly_reads() -> None:
    drawn = str([draw(figure) for figure in figures(sample(('<a href="x">y</a>', "<b>", "&amp;")))])
    assert "<a" not in drawn.replace("'meta': {'name': '<a", "") and "&lt;b&gt;" in drawn and "&amp;amp;" in drawn


def test_paper_is_the_same_every_time_with_fonts_that_publishers_take(comparison: Comparison) -> None:
    chosen = [f for f in figures(comparison) if f.name in ("k_back-k-3-rates", "k_back-k-3-attention-rope")]
    assert len(chosen) == 2
    for figure in chosen:
        files = draw_matplotlib.save(figure, ("pdf", "png", "svg"))
        assert files == draw_matplotlib.save(figure, ("pdf", "png", "svg"))
        assert files["pdf"].startswith(b"%PDF") and b"/Type3" not in files["pdf"] and b"/FontFile2" in files["pdf"]
        picture = Image.open(io.BytesIO(files["png"]))
        assert picture.width == round(300 * draw_matplotlib.WIDTH)
        assert len(set(picture.convert("L").getdata())) > 20


def test_paper_takes_any_name() -> None:
    names = ("$x$ ^ {", "_hidden", "%s \\", "x" * 90)
    drawn = next(figure for figure in figures(sample(names)) if figure.name.endswith("length"))
    assert draw_matplotlib.save(drawn)["png"]


def test_the_data_behind_a_picture_are_its_points(comparison: Comparison) -> None:
    drawn = chart(comparison, "k_back-k-3-length")
    rows = data(drawn).rows
    assert len(rows) == sum(y is not None for series in drawn.series for y in series.y)
    rope = next(series for series in drawn.series if series.name == "rope" and series.look == "mean")
    assert ("rope", "mean", 64, rope.y[1], rope.low[1], rope.high[1]) in rows


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    heavy = ["torch", "matplotlib", "plotly", "pandas"]
    code = f"import sys, ordinate.report; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
