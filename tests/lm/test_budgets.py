"""Budgets, branch points and rates."""

from dataclasses import replace
from itertools import pairwise

import pytest

from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch, branch, branch_schedule, branches
from ordinate.lm.config import Decay, TrunkConfig, resolve

CONFIG, DECAY = resolve("nano", "rope", "data", {"batch": 4, "length": 8, "warmup": 5, "lr": 0.1})
STEP = CONFIG.step_tokens


def test_the_rate_of_every_step() -> None:
    end = branch(CONFIG, 40 * STEP, Decay(share=0.25, shape="linear"))
    assert (end.begin, end.end) == (30, 40)
    rising = [0.02, 0.04, 0.06, 0.08, 0.1]
    falling = [0.1 * (1 - k / 11) for k in range(1, 11)]
    rates = [branch_schedule(CONFIG, end).rate(step) for step in range(40)]
    assert rates == pytest.approx(rising + [0.1] * 25 + falling)


def test_the_decay_by_the_square_root() -> None:
    end = branch(CONFIG, 40 * STEP, Decay(share=0.1))
    assert [branch_schedule(CONFIG, end).rate(step) for step in range(36, 40)] == pytest.approx(
        [0.1 * (1 - (k / 5) ** 0.5) for k in (1, 2, 3, 4)]
    )


@pytest.mark.parametrize("shape", ["sqrt", "linear"])
@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_a_rate_is_never_zero_and_never_rises_after_the_warm_up(shape: str, floor: float) -> None:
    end = branch(CONFIG, 100 * STEP, Decay(share=0.3, shape=shape, floor=floor))  # type: ignore[arg-type]
    rates = [branch_schedule(CONFIG, end).rate(step) for step in range(100)]
    assert min(rates) > 0.1 * floor
    assert all(b <= a for a, b in pairwise(rates[5:]))


def test_a_branch_has_the_rates_of_the_trunk_until_it_leaves_it() -> None:
    """The heart of branching: nothing before the branch point knows the budget."""
    ends = branches(CONFIG, [40 * STEP, 80 * STEP, 160 * STEP], DECAY)
    for end in ends:
        decaying, trunk = branch_schedule(CONFIG, end), branch_schedule(CONFIG)
        assert [decaying.rate(s) for s in range(end.begin)] == [trunk.rate(s) for s in range(end.begin)]
        assert decaying.rate(end.begin) < trunk.rate(end.begin)


def test_budgets_come_in_whole_batches_and_in_order() -> None:
    ends = branches(CONFIG, [80 * STEP + 3, 40 * STEP - 3], DECAY)
    assert [(e.begin, e.end) for e in ends] == [(36, 40), (72, 80)]


@pytest.mark.parametrize(
    ("budgets", "why"),
    [
        ([], "no budget"),
        ([1], "no plateau"),
        ([5 * STEP], "no plateau"),
        ([6 * STEP], "no plateau"),
        ([40 * STEP, 40 * STEP], "same step"),
        ([40 * STEP, 40 * STEP + 1], "same step"),
    ],
)
def test_plans_that_make_no_sense_are_refused(budgets: list[int], why: str) -> None:
    with pytest.raises(InputError, match=why):
        branches(CONFIG, budgets, DECAY)


def test_the_sentence_about_a_missing_plateau_names_a_budget_that_has_one() -> None:
    with pytest.raises(InputError) as raised:
        branches(CONFIG, [6 * STEP], DECAY)
    least = int(str(raised.value).rpartition("at least ")[2].partition(" tokens, or")[0].replace(",", ""))
    assert isinstance(branch(CONFIG, least, DECAY), Branch)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"decay": 0.0}, "decay must"),
        ({"decay": 1.0}, "decay must"),
        ({"decay_floor": 1.0}, "decay_floor must"),
        ({"decay_shape": "cosine"}, "shape"),
        ({"warmup": -1}, "warmup must"),
        ({"mix": 1.5}, "mix must"),
        ({"betas": 0.9}, "betas"),
        ({"packing": "packed"}, "packing"),
        ({"steps": 5}, "unknown key steps"),
        ({"axes": 2}, "axes is fixed"),
        ({"size": "tiny"}, "unknown key size"),
    ],
)
def test_bad_settings_are_one_sentence(settings: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        resolve("nano", "rope", "data", settings)


def test_what_changes_the_trunk_changes_its_name_and_the_decay_does_not() -> None:
    assert resolve("nano", "rope", "data", {"decay": 0.2})[0].id == resolve("nano", "rope", "data")[0].id
    for change in ({"lr": 0.01}, {"seed": 1}, {"packing": "continue+masked"}, {"mix": 0.1}, {"dim": 48}):
        assert resolve("nano", "rope", "data", change)[0].id != resolve("nano", "rope", "data")[0].id
    assert replace(CONFIG, corpus="other").id != CONFIG.id


def test_packing_reaches_the_model() -> None:
    found = {}
    for packing in ("restart+masked", "continue+masked", "continue+unmasked"):
        config: TrunkConfig = resolve("nano", "rope", "data", {"packing": packing})[0]
        found[packing] = (config.model.document_positions, config.model.document_mask)
    assert list(found.values()) == [("restart", True), ("continue", True), ("continue", False)]
