"""The reason of a verdict, in one sentence and one table, from probes."""

import pytest

from ordinate.probes.gradient_norms import GradientProbe
from ordinate.probes.head_names import NamedHead, Role
from ordinate.probes.intervention_costs import Intervention
from ordinate.probes.run_probe import RunProbe
from ordinate.report.why import Why, why_sentence, why_table


def why(encoding: str, scores: dict[int, float], role: Role = "offset", offset: int | None = 3, **more: bool) -> Why:
    """A probe whose only head does this."""
    head = NamedHead(1, 2, role, offset, scores, {32: 1.0})
    permute = Intervention("positions", "permute", 32, 1.0, 0.1, False)
    none = GradientProbe(0.0, (0.0,), {})
    probe = RunProbe(
        metric="accuracy", learned=more.get("learned", True), length=32, lengths=tuple(scores), heads=(head,),
        attention={}, layers=(), interventions=(permute,), run="0" * 12, task="k_back", encoding=encoding, seed=1,
        sequences=8, gradients=none, untrained_gradients=none, gradient_norms=(), parameters=(), effects=(),
    )  # fmt: skip
    return Why(encoding, "0" * 12, probe)


ROPE = why("rope", {32: 0.98, 64: 0.98, 128: 0.97})


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (why("t5", {32: 0.97, 64: 0.7, 128: 0.41}), "t5's falls from 0.97 to 0.41 at 4x"),
        (why("t5", {32: 0.60, 128: 0.90}), "t5's rises from 0.60 to 0.90 at 4x"),
        (why("t5", {32: 0.95, 128: 0.94}), "t5's does too, with 0.95"),
        (why("alibi", {32: 0.7, 128: 0.3}, offset=1),
         "alibi: layer 1 head 2 looks at the previous token with weight 0.70 at length 32 and 0.30 at 128"),
        (why("none", {32: 0.9, 128: 0.9}, "uniform", None),
         "none: layer 1 head 2 spreads its attention evenly (0.90 at every tested length)"),
    ],
)  # fmt: skip
def test_the_best_comes_first_and_the_others_are_held_against_it(other: Why, words: str) -> None:
    first = "rope: layer 1 head 2 looks 3 back with weight 0.98 at every tested length"
    assert why_sentence([ROPE, other]) == f"{first}; {words}."


def test_without_probes_there_is_no_reason() -> None:
    assert why_sentence([]) == "" and not why_table([]).rows


def test_what_was_not_probed_is_said() -> None:
    assert why_sentence([ROPE], ["t5", "none"]).endswith("at every tested length; not probed: t5 and none.")


def test_runs_that_learned_nothing_give_none_away_as_reasons() -> None:
    assert why_sentence([why("rope", {32: 0.9}, learned=False)]).endswith("none of these runs learned the task.")


def test_the_table_has_what_the_sentence_says_and_what_it_costs() -> None:
    ((encoding, head, does, trained, longest, permute, shift, _, run),) = why_table([ROPE]).rows
    assert (encoding, head, does, trained, longest) == ("rope", "1.2", "looks 3 back", 0.98, 0.97)
    assert (permute, shift, run) == ("0.90", "-", "000000000000")
