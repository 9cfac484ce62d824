"""Training curves of language models: by tokens, one for each or the mean of seeds."""

import pytest

from ordinate.report.chart import Chart
from ordinate.report.colors import styles
from ordinate.report.curves import MOST_POINTS
from ordinate.report.lm_curves import TrainingCurve, by_tokens, group_labels


def curve(encoding: str, seed: int, values: list[float], *, group: str = "", running: bool = False) -> TrainingCurve:
    points = {"loss": [(100 * (at + 1), value) for at, value in enumerate(values)]}
    name = f"nano_{encoding}_2M"
    return TrainingCurve(f"{name}_s{seed}", group or encoding, name, encoding, points, running)


BOTH = [curve("rope", 42, [5, 4, 3]), curve("rope", 43, [5, 3, 2]), curve("none", 42, [6, 5], running=True)]


def drawn(curves: list[TrainingCurve], *, grouped: bool, smoothing: float = 0.0) -> Chart:
    chart = by_tokens(curves, "loss", grouped=grouped, smoothing=smoothing)
    assert chart is not None
    return chart


def test_each_model_has_a_curve_in_the_color_of_its_encoding() -> None:
    chart = drawn(BOTH, grouped=False)
    lines = [series for series in chart.series if series.label]
    assert [series.label for series in lines] == [one.name for one in BOTH]
    assert lines[0].style.color == lines[1].style.color == styles(["rope", "none"])["rope"].color
    assert lines[0].style != lines[1].style and lines[0].y == (5, 4, 3) and lines[0].x == (100, 200, 300)
    (now,) = [series for series in chart.series if series.look == "points"]
    assert (now.x, now.y) == ((200,), (5,))
    assert by_tokens(BOTH, "valid_loss", grouped=False) is None


def test_seeds_are_drawn_behind_their_mean() -> None:
    chart = drawn(BOTH, grouped=True)
    means = {series.label: series.y for series in chart.series if series.label}
    assert means == {"rope": (5, 3.5, 2.5), "none": (6, 5)}
    behind = next(series for series in chart.series if series.name == "rope, seeds")
    assert behind.y == (5, 4, 3, None, 5, 3, 2, None)
    shorter = drawn([BOTH[0], curve("rope", 43, [5, 3])], grouped=True)
    assert shorter.series[-1].x == (100, 200)  # where all have a value


def test_groups_have_names_that_tell_them_apart() -> None:
    assert group_labels(BOTH) == {"rope": "rope", "none": "none"}
    two = [curve("rope", 1, [1], group="aaaa1"), curve("rope", 1, [1], group="bbbb1")]
    assert group_labels(two) == {"aaaa1": "nano_rope_2M aaaa", "bbbb1": "nano_rope_2M bbbb"}


def test_long_journals_are_thinned_alike_for_all_seeds() -> None:
    many = [curve("rope", seed, [float(at) for at in range(3000 + 500 * seed)]) for seed in (0, 1)]
    chart = drawn(many, grouped=True)
    assert 2 < len(chart.series[-1].x) <= MOST_POINTS
    assert chart.series[-1].y[5] == pytest.approx(float(chart.series[-1].x[5] or 0) / 100 - 1)
    smoothed = drawn(many[:1], grouped=False, smoothing=0.9)
    assert [series.look for series in smoothed.series] == ["seed", "curve"]
