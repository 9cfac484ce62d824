"""The page on depth says what the numbers say."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from ordinate.probes.hidden_states import StateProbe
from ordinate.probes.layer_measures import DepthMeasures, LayerMeasures
from ordinate.report.depth.length_cost import slope
from ordinate.report.depth.models import split
from ordinate.report.depth.states import fading, gradients, rank
from ordinate.store.examples import open_examples
from ordinate.studies.depth_runs import DepthModel, DepthRun, depth_runs

DOCS = Path(__file__).parents[2] / "docs"
PLAIN = DepthModel("sinusoidal", 16, "pre", True, None)


def test_the_page_is_that_of_the_results_that_ship() -> None:
    made = runpy.run_path(str(DOCS / "depth.py"))
    text = (DOCS / "DEPTH.md").read_text(encoding="utf-8")
    assert made["document"](depth_runs(open_examples())) == text, "to write it again: python docs/depth.py"


@pytest.mark.parametrize("exponent", [1.0, 2.0])
def test_the_exponent_of_a_power_law(exponent: float) -> None:
    assert slope([(n, 3 * n**exponent) for n in (512, 1024, 8192)]) == pytest.approx(exponent)


def test_models_are_told_apart_by_what_they_share() -> None:
    both = (True, False)
    models = [replace(PLAIN, encoding=name, residual=residual) for name in ("rope", "alibi") for residual in both]
    assert split({model: not model.residual for model in models}) == "only without residuals"
    assert split({model: model.encoding == "rope" for model in models}) == "only with rope"
    assert split(dict.fromkeys(models, True)) == "in all 4 models"
    assert split(dict.fromkeys(models, False)) == "in none of 4 models"
    odd = split({model: model in (models[0], models[3]) for model in models})
    assert odd == "in 2 of 4 models (rope, 16 layers; alibi, 16 layers, norms before each branch, no residuals)"


def test_a_signal_that_is_lost_fades_and_one_that_stays_does_not() -> None:
    lost, kept = measured(PLAIN, [0.9, 0.8, 0.1]), measured(replace(PLAIN, encoding="learned"), [0.9, 0.8, 0.7])
    for runs, word in (([lost], "Holds"), ([kept], "Does not hold"), ([lost, kept], "Holds in part")):
        verdict = fading({run.model: [run] for run in runs}).verdict
        assert verdict is not None and verdict.startswith(f"**{word}**")


def test_gradients_and_rank_follow_their_rules() -> None:
    run = measured(PLAIN, [0.5, 0.5, 0.5], ranks=[20.0, 5.0, 1.0], gradients=[0.001, 1.0])
    assert "vanish toward the first layer in the one model" in (gradients({PLAIN: [run]}).verdict or "")
    assert "rank collapses in the one model" in (rank({PLAIN: [run]}).verdict or "")
    assert fading({PLAIN: []}).verdict is None


def measured(
    model: DepthModel, position: list[float], ranks: list[float] | None = None, gradients: list[float] | None = None
) -> DepthRun:
    """A run of the shipped results with other measures."""
    result = next(run.result for run in open_examples().runs() if run.done)
    states = tuple(StateProbe(p, p, 0.0, r, 0.0) for p, r in zip(position, ranks or [9.0] * 3, strict=True))
    one = DepthMeasures(states, tuple(gradients or [1.0, 1.0]), (0.5, 0.5))
    return DepthRun(model, 1, result, LayerMeasures(result.run, 32, 8, one, one))
