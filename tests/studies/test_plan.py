"""What a comparison consists of, from what was asked for."""

import inspect
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate import InputError
from ordinate.statistics.looks import MOST
from ordinate.statistics.phrases import USUAL_SEEDS
from ordinate.studies import plan as planning
from ordinate.studies.plan import PILOT, QUICK_SEEDS, RATES, Study, plan, usual_seeds

from . import made


def test_names_are_canonical() -> None:
    asked = made.study("rope( base = 10000 ), learned( rows=64 )", tasks="k_back( vocabulary = 4, k=1 )")
    assert asked.tasks == (made.TASK,)
    assert asked.encodings == ("rope", "learned(rows=64)")
    assert asked == made.study(["rope", "learned(rows=64)"])


def test_commas_in_brackets_separate_nothing() -> None:
    asked = made.study("t5(buckets=16,farthest=64),rope", tasks="k_back(k=1,vocabulary=4),k_back(k=2,vocabulary=4)")
    assert asked.encodings == ("t5(buckets=16,farthest=64)", "rope")
    assert asked.tasks == ("k_back(k=1,vocabulary=4)", "k_back(k=2,vocabulary=4)")
    assert [(task, encoding) for task, encoding, _ in asked.bases] == [
        (task, encoding) for task in asked.tasks for encoding in asked.encodings
    ]


def test_compared_configurations_differ_in_the_encoding_alone() -> None:
    asked = made.study(made.SIX)
    shared = {replace(base, model=replace(base.model, encoding="none")) for _, _, base in asked.bases}
    assert len(shared) == 1
    assert [base.model.encoding for _, _, base in asked.bases] == list(made.SIX)


def test_without_names_the_usual_encodings_are_compared() -> None:
    asked = plan("k_back")
    assert {"none", "rope", "alibi"} <= set(asked.encodings)
    assert (asked.seeds, asked.rates, asked.quick) == (USUAL_SEEDS, RATES, False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(settings={"seed": 3}), "chooses its seeds itself"),
        (dict(settings={"dimm": 3}), "unknown key dimm: did you mean dim"),
        (dict(settings={"task": "k_back"}), "task is no setting of a comparison"),
        (dict(settings={"encoding": "rope"}), "encoding is no setting of a comparison"),
        (dict(settings={"model": {"encoding": "rope"}}), "encoding was given twice"),
        (dict(encodings="rope"), "one encoding alone .rope. is no comparison"),
        (dict(encodings=[]), "no encoding was named"),
        (dict(encodings=" , "), "no encoding was named"),
        (dict(encodings="rope,nope"), "nope"),
        (dict(encodings="rope,rope(base=10000)"), "encoding rope was named twice"),
        (dict(tasks=""), "no task was named"),
        (dict(tasks=f"{made.TASK},k_back(vocabulary=4,k=1)"), "was named twice"),
        (dict(tasks="k_bakc"), "did you mean k_back"),
        (dict(quick=True, rates=[0.001]), "--quick has no sweep"),
        (dict(quick=True, seeds="auto"), "--quick has no sweep"),
        (dict(rates=[0.001], settings={"lr": 0.01}), "give one of them"),
        (dict(rates=[]), "no learning rate was named"),
        (dict(rates=[True]), "a learning rate is a number above 0"),
        (dict(rates=[0.0]), "a learning rate is a number above 0"),
        (dict(rates=[float("nan")]), "a learning rate is a number above 0"),
        (dict(rates=[float("inf")]), "a learning rate is a number above 0"),
        (dict(seeds=0), "at least 1, got 0"),
        (dict(seeds=True), "at least 1, got True"),
    ],
)
def test_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made.study(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(rates=["0.001"]), "a learning rate is a number above 0, got '0.001'"),
        (dict(rates=[None]), "a learning rate is a number above 0, got None"),
        (dict(seeds=2.0), "at least 1, got 2.0"),
        (dict(seeds="five"), "must be auto or a whole number of at least 1, got 'five'"),
    ],
)
def test_values_of_another_kind_are_refused(
    options: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user meets it, for whom types are not checked."""
    monkeypatch.setattr(planning, "_grid", inspect.unwrap(planning._grid))
    with pytest.raises(InputError, match=words):
        inspect.unwrap(plan)("k_back", "rope,alibi", **options)


def test_a_run_that_cannot_be_is_refused_before_the_first() -> None:
    with pytest.raises(InputError, match="even"):
        made.study("alibi,rope", settings=dict(dim=6, heads=2))


def test_a_fixed_learning_rate_is_not_swept() -> None:
    asked = made.study(settings={"lr": 0.02})
    assert asked.rates == () and {base.lr for _, _, base in asked.bases} == {0.02}
    assert made.study(quick=True).rates == ()


def test_rates_are_sorted_and_each_is_there_once() -> None:
    assert made.study(rates=[0.01, 1e-3, 0.01]).rates == (0.001, 0.01)


ASKED: tuple[dict[str, Any], ...] = (
    dict(),
    dict(seeds=7),
    dict(seeds="auto"),
    dict(rates=[0.001]),
    dict(rates=[0.001, 0.0012345678901234567]),
    dict(quick=True),
    dict(quick=True, seeds=5),
    dict(fixed=True),
    dict(encodings="alibi,rope"),
    dict(encodings="rope,alibi,t5(buckets=16,farthest=64)"),
    dict(tasks=f"{made.TASK},first_last"),
    dict(settings=dict(betas=(0.9, 0.99), budget="fixed", warmup=0)),
    dict(settings=dict(coverage="randomized", position_limit=30)),
)


def test_any_other_content_has_another_id() -> None:
    assert len({made.study(**options).id for options in ASKED}) == len(ASKED)
    whole = made.study()
    changed = [replace(whole, seeds=4), replace(whole, rates=()), replace(whole, quick=True)]
    changed += [replace(whole, gave_up=("width 32 in place of 64",))]
    changed += [replace(whole, bases=whole.bases[::-1])]
    task, encoding, base = whole.bases[0]
    for other in ((f"{task} ", encoding, base), (task, "fire", base), (task, encoding, replace(base, steps=21))):
        changed.append(replace(whole, bases=(other, *whole.bases[1:])))
    assert len({whole.id, *(asked.id for asked in changed)}) == 1 + len(changed)


@pytest.mark.parametrize("options", ASKED, ids=repr)
def test_written_and_read_it_is_the_same(options: dict[str, Any]) -> None:
    asked = made.study(**options)
    again = Study.from_dict(json.loads(json.dumps(asked.as_dict())))
    assert again == asked and again.id == asked.id
    for (_, _, one), (_, _, two) in zip(asked.bases, again.bases, strict=True):
        assert one.again(3, 0.01).id == two.again(3, 0.01).id


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 100), st.floats(1e-6, 1.0))
def test_a_run_has_the_seed_and_the_rate_that_it_was_given(seed: int, rate: float) -> None:
    base = made.study().bases[0][2]
    run = base.again(seed, rate)
    assert (run.seed, run.lr) == (seed, rate)
    assert replace(run, seed=PILOT, lr=base.lr) == base


def test_what_was_relaxed_is_named() -> None:
    assert made.study().relaxed == made.study(seeds="auto").relaxed == made.study(seeds=USUAL_SEEDS).relaxed == ()
    assert made.study(seeds=4).relaxed == ("4 seeds where 6 are the rule",)
    assert made.study(seeds=1).relaxed == ("1 seed where 6 are the rule",)
    rate = "one learning rate (0.02) for all encodings, not tuned"
    assert made.study(settings={"lr": 0.02}).relaxed == (rate,)
    assert made.study(quick=True, settings={"lr": 0.02}).relaxed == (rate, f"{QUICK_SEEDS} seeds where 6 are the rule")
    assert made.study(quick=True, seeds=6, settings={"lr": 0.02}).relaxed == (rate,)


@pytest.mark.parametrize(
    ("tasks", "encodings", "tests", "seeds"),
    [(1, 2, 2, 6), (1, 6, 30, 6), (2, 6, 60, 6), (6, 6, 180, 7), (2, 10, 180, 7), (1, 4, 12, 6), (1, 49, 2352, 9)],
)
def test_as_many_seeds_as_a_large_difference_needs(tasks: int, encodings: int, tests: int, seeds: int) -> None:
    """Over all tasks and both endpoints, and never fewer than the rule: three standard deviations are claimed."""
    base = made.study().bases[0][2]
    bases = tuple((f"task {t}", f"encoding {e}", base) for t in range(tasks) for e in range(encodings))
    assert Study(bases).tests == tests
    assert usual_seeds(tasks, encodings) == seeds

    def p(n: int) -> float:
        """Of two samples that differ by three standard deviations."""
        return float(stats.t.sf(3 * math.sqrt(n / 2), 2 * n - 2) * 2)

    assert tests * p(seeds) < 0.05 and (seeds == USUAL_SEEDS or tests * p(seeds - 1) >= 0.05)


def test_seeds_are_those_asked_for_else_the_usual_ones() -> None:
    assert made.study().seeds == USUAL_SEEDS == 6
    two = f"{made.TASK},first_last"
    assert made.study(made.SIX).seeds == 6 and made.study(made.SIX, tasks=two).seeds == 6
    assert made.study(made.SIX, tasks=two, seeds=2).seeds == 2
    assert made.study(made.SIX, tasks=two, quick=True).seeds == QUICK_SEEDS


def test_a_warm_up_that_was_asked_for_is_kept() -> None:
    base = made.study(settings=dict(steps=100, warmup=30)).bases[0][2]
    assert base.warmup == 30 and base.again(1, 0.01).warmup == 30


def test_a_run_with_a_part_of_the_budget_differs_in_nothing_else() -> None:
    base = made.study(settings=dict(steps=1000)).bases[0][2]
    short = base.again(3, 0.01, 250)
    assert (base.warmup, short.warmup, short.steps) == (50, 25, 250) and short.id != base.again(3, 0.01).id
    assert replace(short, steps=1000, warmup=50) == base.again(3, 0.01)


def test_size() -> None:
    assert made.study().size == 2 * (USUAL_SEEDS + len(RATES))
    assert made.study(tasks=f"{made.TASK},first_last", seeds=7, rates=[0.001]).size == 4 * 8
    assert made.study(seeds="auto", fixed=True).size == 2 * MOST
    assert made.study(quick=True).size == 2 * QUICK_SEEDS
