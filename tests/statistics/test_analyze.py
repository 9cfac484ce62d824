"""The rules of a fair comparison, on made-up scores."""

import random
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.report.sample import trained

from ordinate.statistics.alarms import (
    DifferentSets,
    DivergedRuns,
    FewSeeds,
    Floor,
    Gate,
    GridEdge,
    Overlap,
    UnequalSeeds,
)
from ordinate.statistics.analyze import analyze, few_seeds
from ordinate.statistics.holm import holm
from ordinate.statistics.observations import Observation, RangeKey, headline
from ordinate.statistics.reach import Reach
from ordinate.statistics.types import (
    Alarm,
    ArmFacts,
    Basis,
    Contrast,
    Finding,
    Outcome,
    Range,
    StudyFacts,
    TaskAnalysis,
)
from ordinate.statistics.words import Word

CHANCE, N = 1 / 16, 1000
Scores = dict[str, tuple[float, float | None]]


def observed(scores: Scores, seeds: int = 6, noise: float = 0.003, task: str = "recall") -> list[Observation]:
    """In distribution at 32 and OOD at 64, with a little noise by seed."""
    source, found = random.Random(0), []
    for encoding, (inside, outside) in scores.items():
        for seed in range(1, seeds + 1):
            for split, length, score in (("id", 32, inside), ("ood", 64, outside)):
                value = None if score is None else min(1.0, max(0.0, score + source.gauss(0, noise)))
                found.append(
                    Observation(task, encoding, seed, split, length, value, CHANCE, CHANCE, N, family="distance")
                )
    return found


def only(items: list[Observation], **more: float) -> TaskAnalysis:
    (task,) = analyze(items, **more).tasks  # type: ignore[arg-type]
    return task


def words(r: Range) -> dict[str, dict[Word, int]]:
    return {cell.encoding: cell.words for cell in r.cells}


def pair(task: TaskAnalysis, one: str, two: str, basis: Basis = Basis.SCORES) -> Contrast | None:
    return next((p for p in task.pairs if p.basis is basis and {p.better, p.worse} == {one, two}), None)


def changed(items: list[Observation], encoding: str, split: str, seeds: set[int], score: float) -> list[Observation]:
    return [
        replace(o, score=score) if (o.encoding, o.split) == (encoding, split) and o.seed in seeds else o for o in items
    ]


TYPICAL: Scores = {
    "turns": (1.0, 0.99), "half": (0.99, 0.5), "table": (1.0, CHANCE), "short": (1.0, None), "weak": (0.63, 0.6),
    "blind": (CHANCE, CHANCE),
}  # fmt: skip


def test_every_word_in_its_place() -> None:
    task = only(observed(TYPICAL, noise=0.0))
    inside, outside = task.ranges
    assert {encoding: list(own) for encoding, own in words(outside).items()} == {
        "turns": ["solves"], "half": ["partial"], "table": ["fits"], "short": ["out of range"],
        "weak": ["did not fit"], "blind": ["at chance"],
    }  # fmt: skip
    assert inside.cell("half").word is Word.SOLVES and outside.cell("weak").inside == pytest.approx(0.63)
    assert task.learned == dict.fromkeys(("turns", "half", "table", "short"), (6, 6)) | {
        "weak": (0, 6),
        "blind": (0, 6),
    }
    assert task.encodings[:3] == ("turns", "half", "table")
    assert task.verdict.finding is Finding.USE and task.verdict.use == ("turns",)
    assert task.verdict.unseen == pytest.approx(0.393, abs=0.001) and task.verdict.seeds == 6


def test_who_did_not_learn_it_has_no_score_beyond() -> None:
    task = only(observed(TYPICAL))
    cell = task.shown.cell("weak")
    assert cell.interval is None and cell.counted == (False,) * 6
    assert cell.scores[0] is not None  # kept, for whoever looks for it; never counted
    assert not [p for p in task.pairs if p.basis is Basis.SCORES and "weak" in (p.better, p.worse)]
    learning = pair(task, "turns", "weak", Basis.LEARNING)
    assert learning is not None and learning.claim and learning.means == (1, 0) and learning.improvement is None


def test_seeds_that_disagree_are_counted() -> None:
    task = only(changed(observed({"a": (1.0, 1.0), "b": (1.0, 1.0)}), "b", "ood", {4, 5, 6}, 0.06))
    assert task.shown.cell("b").words == {Word.SOLVES: 3, Word.FITS: 3} and task.shown.cell("b").word is None


def test_seeds_that_did_not_learn_the_task_count_as_the_floor() -> None:
    task = only(changed(observed({"a": (1.0, 0.9), "b": (1.0, 0.5)}, 8), "b", "id", {1, 2}, 0.5))
    scores, learning = pair(task, "a", "b"), pair(task, "a", "b", Basis.LEARNING)
    assert scores is not None and scores.seeds == (8, 8) and scores.claim and scores.better == "a"
    assert task.means == pytest.approx({"a": 0.9, "b": (6 * 0.5 + 2 * CHANCE) / 8}, abs=0.01)
    assert scores.means == pytest.approx((task.means["a"], task.means["b"]))
    shown = task.shown.cell("b").interval
    assert shown is not None and shown.n == 6 and shown.mean == pytest.approx(0.5, abs=0.01)  # described without them
    assert learning is not None and learning.seeds == (8, 8) and learning.means == (1.0, 0.75) and not learning.claim


def test_the_headline_and_the_area_are_tested_and_no_other_range() -> None:
    more = [replace(o, length=128) for o in observed({"a": (1, 0.9), "b": (1, 0.3)}) if o.split == "ood"]
    task = only([*observed({"a": (1, 0.9), "b": (1, 0.9)}), *more])
    assert task.shown.length == 64
    assert [(p.basis, p.outcome) for p in task.pairs] == [
        (Basis.LEARNING, Outcome.SAME), (Basis.SCORES, Outcome.OPEN), (Basis.AREA, Outcome.CLAIM),
    ]  # fmt: skip
    assert task.areas == pytest.approx({"a": 0.925, "b": 0.775}, abs=0.01) and task.verdict.use == ("a",)
    one = only(observed({"a": (1, 0.9), "b": (1, 0.9)}))  # a single longer length is the headline itself
    assert one.areas == {} and {p.basis for p in one.pairs} == {Basis.LEARNING, Basis.SCORES}


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([("id", 32), ("ood", 40), ("ood", 64), ("ood", 128)], ("ood", 64)),
        ([("id", 16), ("id", 32), ("ood", 40), ("ood", 96), ("ood", 128)], ("ood", 96)),
        ([("id", 32), ("ood", 40), ("ood", 48), ("shift", 32)], ("ood", 48)),
        ([("id", 32), ("shift", 32)], ("shift", 32)),
        ([("id", 16), ("id", 32)], ("id", 32)),
        ([("ood", 40), ("ood", 64)], ("ood", 40)),
    ],
)
def test_the_headline_is_twice_the_trained_length(places: list[RangeKey], expected: RangeKey) -> None:
    assert headline(places) == headline(places[::-1]) == expected


def test_a_claim_needs_enough_seeds() -> None:
    """Five; with four, nothing can be claimed, however large the difference."""
    scores: Scores = {name: (1.0, 0.9 - 0.1 * index) for index, name in enumerate("abcdef")}
    for seeds in (4, 5):
        analysis = analyze(observed(scores, seeds))
        (task,) = analysis.tasks
        assert analysis.seeds_needed == 5 and analysis.tests == 15
        outcomes = {p.outcome for p in task.pairs if p.basis is Basis.SCORES}
        assert outcomes == ({Outcome.CLAIM} if seeds == 5 else {Outcome.FEW_SEEDS})
        assert any(alarm.kind == "seeds" for alarm in task.alarms) is (seeds == 4)
    assert analyze(observed({"a": (1.0, 0.9)})).seeds_needed == 0


def test_one_family_over_all_tasks() -> None:
    """A second task takes its share of the risk; tests of learning, which all learned, take none."""
    scores: Scores = {name: (1.0, 0.9 - 0.01 * index) for index, name in enumerate("abcd")}
    one, two = observed(scores, 5, 0.01, task="one"), observed(scores, 5, 0.02, task="two")
    both = analyze([*one, *two])
    tested = [p for task in both.tasks for p in task.pairs if p.basis is Basis.SCORES]
    assert both.tests == len(tested) == 12
    assert [p.corrected for p in tested] == pytest.approx(holm([p.p for p in tested]))
    alone = [p for p in only(one).pairs if p.basis is Basis.SCORES]
    assert all(p.corrected >= q.corrected and p.p == q.p for p, q in zip(tested, alone, strict=False))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=5), st.integers(1, 4))
def test_four_seeds_never_give_a_claim_about_scores(levels: list[tuple[float, float]], seeds: int) -> None:
    items = observed({f"e{i}": level for i, level in enumerate(levels)}, seeds, 0.02)
    longer = [replace(o, length=128) for o in items if o.split == "ood"]
    task = only([*items, *longer])
    assert not any(p.claim for p in task.pairs if p.basis is not Basis.LEARNING) and task.verdict.use == ()


def test_a_claim_needs_a_small_p_and_improvement() -> None:
    """One seed far off makes either unsure; without any spread, scores are as sure as their evaluation set."""
    items = changed(observed({"a": (1, 0.9), "b": (1, 0.6)}, 6, 0.002), "a", "ood", {1}, 0.5)
    found = pair(only(items), "a", "b")
    assert found is not None and found.improvement is not None
    assert found.improvement.probability == pytest.approx(5 / 6)
    assert found.claim == (found.corrected < 0.05 and found.improvement.low > 0.5)
    same = pair(only(observed({"a": (1, 0.9), "b": (1, 0.6)}, 6, 0.0)), "a", "b")
    assert same is not None and same.claim and 0 < same.p < 1e-6
    assert same.difference.low == same.difference.high == pytest.approx(0.3)


def test_equal_encodings_are_not_told_apart_and_alike_from_thirty_seeds_on() -> None:
    for seeds, outcome in ((8, Outcome.OPEN), (20, Outcome.OPEN), (30, Outcome.ALIKE)):
        found = pair(only(observed({"a": (1.0, 0.9), "b": (1.0, 0.9)}, seeds)), "a", "b")
        assert found is not None and found.outcome is outcome
    among = dict.fromkeys((f"e{index}" for index in range(20)), (1.0, 0.3))  # whose pairs share the risk
    pairs = {}
    for more in ({}, among):
        found = pair(only(observed({"a": (1.0, 0.9), "b": (1.0, 0.9)} | more, 30, 0.02)), "a", "b")
        assert found is not None
        pairs[len(more)] = found.outcome
    assert pairs == {0: Outcome.ALIKE, 20: Outcome.OPEN}
    flat = pair(only(observed({"a": (1.0, 0.9), "b": (1.0, 0.9)}, 30, 0.0)), "a", "b")
    assert flat is not None and flat.outcome is Outcome.OPEN  # an interval of no width


def test_nothing_inside_the_band_of_the_floor_wins() -> None:
    """A difference of one point at chance is significant over seeds, and still no win."""
    task = only(observed({"a": (1.0, 0.070), "b": (1.0, 0.060)}, seeds=8, noise=0.0))
    found = pair(task, "a", "b")
    assert found is not None and found.corrected < 0.05
    assert not found.claim and found.outcome is Outcome.FLOOR
    ranks = task.shown.ranks
    assert ranks is not None and ranks.average == {"a": 1.5, "b": 1.5}


def test_who_has_nothing_to_report_shares_the_last_rank() -> None:
    ranks = only(observed(TYPICAL, noise=0.0)).shown.ranks
    assert ranks is not None
    assert ranks.average == {"turns": 1, "half": 2, "table": 3, "short": 5, "weak": 5, "blind": 5}
    assert ranks.reciprocal["half"] == 0.5


def test_a_loss_has_no_gate_and_no_words() -> None:
    items = [
        replace(o, bar=None, direction="lower", score=None if o.score is None else 2 - o.score)
        for o in observed({"a": (0.5, 0.4), "b": (0.3, 0.1)})
    ]
    task = only(items)
    assert task.learned == {} and task.reach == {} and words(task.ranges[0]) == {"a": {}, "b": {}}
    (found,) = task.pairs
    assert found.better == "a" and found.claim and found.difference.mean < 0
    assert task.verdict.use == ("a",) and task.encodings[0] == "a"


def test_a_diverged_run_is_told_and_not_counted() -> None:
    items = [replace(o, score=None, diverged=True) if o.seed == 2 else o for o in observed({"a": (1, 1), "b": (1, 1)})]
    task = only(items)
    assert task.shown.cell("a").words == {Word.SOLVES: 5, Word.DIVERGED: 1}
    assert DivergedRuns((("a", 2), ("b", 2))) in task.alarms
    assert task.learned["a"] == (5, 6)


def test_nobody_learned_it() -> None:
    task = only(observed({"a": (0.6, 0.5), "b": (0.4, 0.3)}))
    assert task.verdict.finding is Finding.NOT_LEARNED and task.verdict.use == ()


class TestUse:
    """Who is above all others."""

    def use(self, scores: Scores, seeds: int = 8) -> tuple[str, ...]:
        return only(observed(scores, seeds)).verdict.use

    def test_one(self) -> None:
        assert self.use({"a": (1, 0.9), "b": (1, 0.5), "c": (1, 0.2)}) == ("a",)

    def test_two_that_are_not_told_apart(self) -> None:
        assert self.use({"a": (1, 0.9), "b": (1, 0.9), "c": (1, 0.2)}) in (("a", "b"), ("b", "a"))

    def test_by_learning_alone(self) -> None:
        assert self.use({"a": (1, 0.9), "b": (0.5, 0.5), "c": (0.4, 0.2)}) == ("a",)

    def test_above_those_that_cannot_go_there(self) -> None:
        assert self.use({"a": (1, 0.9), "b": (1, None), "c": (1, 0.2)}) == ("a",)
        assert self.use({"a": (1, 0.9), "b": (1, None)}) == ()  # a fact, and nothing is tested
        assert self.use({"a": (1, CHANCE), "b": (1, None)}) == ()

    def test_all_alike_is_no_advice(self) -> None:
        assert self.use({"a": (1, 0.9), "b": (1, 0.9)}) == ()

    def test_a_chain_without_a_top(self) -> None:
        """b is told apart from neither: a is not above all others, nor are a and b above all and alike."""
        items = observed({"a": (1, 0.9), "b": (1, 0.8), "c": (1, 0.7)}, 8, 0.002)
        items = changed(changed(items, "b", "ood", {1, 2, 3, 4}, 0.95), "b", "ood", {5, 6, 7, 8}, 0.66)
        task = only(items)
        assert pair(task, "a", "c").claim and task.verdict.use == ()  # type: ignore[union-attr]

    def test_no_use_without_a_test(self) -> None:
        """Alone in solving it everywhere, and still not shown to be better than one that nearly does."""
        task = only(changed(observed({"a": (1, 1), "b": (1, 1)}, 8, 0.0), "b", "ood", {1}, 0.9))
        assert task.verdict.finding is Finding.OPEN

    def test_failures_count_against_who_fails(self) -> None:
        items = observed({"a": (1, 0.9), "b": (1, 0.3)}, 8)
        half = only(changed(items, "a", "id", {1, 2, 3}, 0.5))
        assert not pair(half, "a", "b").claim and not pair(half, "a", "b", Basis.LEARNING).claim  # type: ignore[union-attr]
        assert (half.verdict.finding, half.verdict.use) == (Finding.OPEN, ())
        assert half.shown.cell("a").failed == (3, 8)
        beyond = [
            replace(o, score=None, diverged=True) if (o.encoding, o.split) == ("a", "ood") and o.seed < 3 else o
            for o in items
        ]
        assert only(beyond).means["a"] == pytest.approx((6 * 0.9 + 2 * CHANCE) / 8, abs=0.01)

    def test_in_distribution_a_seed_that_failed_has_its_own_score(self) -> None:
        inside = [o for o in observed({"a": (0.99, 0), "b": (0.96, 0)}, 8, 0.001) if o.split == "id"]
        task = only(changed(inside, "a", "id", {1}, 0.94))
        assert task.shown.split == "id" and task.shown.cell("a").failed == (1, 8)
        assert task.means["a"] == pytest.approx((7 * 0.99 + 0.94) / 8, abs=0.001) and task.learned["a"] == (7, 8)

    def test_better_scores_do_not_make_up_for_learning_less_often(self) -> None:
        items = observed({"a": (1, 0.9), "b": (1, 0.5)}, 20)
        task = only(changed(items, "a", "id", set(range(1, 15)), 0.5))
        learning = pair(task, "a", "b", Basis.LEARNING)
        assert learning is not None and learning.claim and learning.better == "b"
        assert not pair(task, "a", "b").claim and task.verdict.use == ("b",)  # type: ignore[union-attr]


def lengths(scores: dict[int, float | None], seed: int = 1, encoding: str = "a") -> list[Observation]:
    return [
        Observation("recall", encoding, seed, "id" if n <= 32 else "ood", n, score, CHANCE, CHANCE, N)
        for n, score in scores.items()
    ]


def test_reach_is_up_to_where_every_tested_length_is_at_the_bar() -> None:
    items = [
        *lengths({32: 1.0, 40: 1.0, 64: 0.96, 128: 0.97}, 1), *lengths({32: 1.0, 40: 0.96, 64: 0.9, 128: 1.0}, 2),
        *lengths({32: 0.95, 40: 0.5, 64: 0.1, 128: 0.1}, 3), *lengths({32: 0.94, 40: 1.0, 64: 1.0, 128: 1.0}, 4),
        *lengths({32: 1.0, 40: 1.0, 64: None, 128: None}, 5),
    ]  # fmt: skip
    found = only(items).reach["a"]
    one, two, three, four, five = found.seeds
    assert (one, three, four, five) == (4.0, 1.0, None, 1.25) and (found.longest, found.untested) == (4.0, 0)
    assert two == pytest.approx(1.25 * 1.6 ** (1 / 6))  # from 0.96 at 40 to 0.9 at 64: a sixth of the way, in logs
    assert (found.median, found.interval) == (1.25, (1.0, 4.0))
    assert found.other_bars == pytest.approx({0.9: 1.25, 0.99: 1.25**0.25})
    assert found.at_least(4.0) and not found.at_least(1.25)
    nothing = Reach((None, None), 4.0)
    assert (nothing.median, nothing.interval) == (None, None)


def test_the_interval_of_reach_is_that_of_the_median() -> None:
    """By order statistics: the binomial tail of one half beyond either end is at most 1 in 40."""
    for n in (1, 5, 6, 9, 20, 50):
        reach = Reach(tuple(float(value) for value in range(1, n + 1)), 100.0)
        assert reach.interval is not None
        low, high = reach.interval
        assert low == n + 1 - high <= (n + 1) / 2
        if n > 5:
            assert 2 * stats.binom.cdf(low - 1, n, 0.5) <= 0.05 < 2 * stats.binom.cdf(low, n, 0.5)
        else:
            assert low == 1


def test_a_length_that_was_not_tested_ends_the_reach_and_is_told() -> None:
    items = [
        *lengths({32: 1.0, 40: 1.0, 64: 1.0}), *lengths({32: 1.0}, 1, "b"), *lengths({32: 1.0, 64: 1.0}, 1, "c"),
        *lengths({8: 0.5, 32: 1.0, 40: 0.9, 64: 1.0}, 1, "d"),
    ]  # fmt: skip
    found = only(items).reach
    assert {name: (own.seeds, own.longest, own.untested) for name, own in found.items()} == {
        "a": ((2.0,), 2.0, 0), "b": ((1.0,), 2.0, 1), "c": ((1.0,), 2.0, 1), "d": ((0.0,), 2.0, 0),
    }  # fmt: skip
    alone = only([o for o in items if o.length == 32]).reach["a"]  # nothing longer at all
    assert (alone.seeds, alone.longest, alone.untested) == ((1.0,), 1.0, 1)


def test_what_is_not_finished_is_preliminary() -> None:
    found = analyze(
        observed({"a": (1, 1), "b": (1, 1)}), study={"recall": StudyFacts(12, 20)},
        preliminary=("one rate",),
    )  # fmt: skip
    assert found.preliminary == ("one rate", "12 of 20 planned runs are done")


def test_few_seeds_make_a_file_preliminary() -> None:
    items = observed({"a": (1, 1), "b": (1, 1)})
    assert few_seeds(items) == ()
    assert few_seeds([o for o in items if o.seed < 5]) == ("4 seeds where 6 are the rule",)
    assert few_seeds([o for o in items if o.encoding == "a" or o.seed == 1]) == ("1 seed where 6 are the rule",)


def test_steps_to_learn() -> None:
    found = trained((300, None, 100, 200), 1000)
    assert (found.median, found.interval) == (200, (100, None))
    assert trained((None, None, 100), 1000).median is None
    (task,) = analyze(observed({"a": (1, 1), "b": (1, 1)}), steps={"recall": {"a": found}}).tasks
    assert task.steps == {"a": found}


def test_intervals_stay_within_the_bounds_of_a_score() -> None:
    items = changed(observed({"a": (1, 0.9), "b": (1, 0.1)}, 4, 0.0), "a", "ood", {1}, 0.0)
    items = changed(items, "b", "ood", {1}, 1.0)
    task = only(items)
    for cell in task.shown.cells:
        assert cell.interval is not None and cell.interval.low == 0.0 and cell.interval.high == 1.0
    found = pair(task, "a", "b")
    assert found is not None and (found.difference.low or -2) >= -1 and (found.difference.high or 2) <= 1


def test_looks_lower_alpha() -> None:
    items = observed({"a": (1.0, 0.9), "b": (1.0, 0.3)}, 6)
    p = pair(only(items), "a", "b").p  # type: ignore[union-attr]
    for alpha, claim in ((1.01 * p, True), (0.99 * p, False)):
        look = analyze(items, alpha=alpha)
        assert pair(look.tasks[0], "a", "b").claim is (claim and look.seeds_needed <= 6)  # type: ignore[union-attr]


def test_ranks_by_family_are_over_tasks_that_somebody_learned() -> None:
    items = [
        *observed({"a": (1, 0.9), "b": (1, 0.5)}, task="one"), *observed({"a": (1, 0.9), "b": (1, 0.5)}, task="two"),
        *(replace(o, family="copying") for o in observed({"a": (1, 0.2), "b": (1, 0.9)}, task="three")),
    ]  # fmt: skip
    families = analyze(items).families
    assert families.keys() == {"distance", "all tasks"}
    assert families["distance"].average == {"a": 1, "b": 2} and families["distance"].blocks == 2
    assert families["all tasks"].average == pytest.approx({"a": 4 / 3, "b": 5 / 3})
    assert families["all tasks"].reciprocal["a"] == pytest.approx((1 + 1 + 0.5) / 3)
    nobody = observed({"a": (0.5, 0.2), "b": (0.6, 0.9)}, task="four")
    assert analyze([*items, *nobody]).families == families


def test_ranks_over_tasks_need_no_scores_in_distribution() -> None:
    items = [o for task in ("one", "two") for o in observed({"a": (1, 0.9), "b": (1, 0.5)}, task=task)]
    found = analyze([o for o in items if o.split == "ood"]).families
    assert found["distance"].average == {"a": 1, "b": 2} and found["distance"].reciprocal == {"a": 1, "b": 0.5}


def test_ranks_over_tasks_are_those_of_means() -> None:
    """b is above a in five of six seeds, a in the mean over them; who fails is ranked by its mean too."""
    items = [o for task in ("one", "two") for o in observed({"a": (1, 0.5), "b": (1, 0.55)}, 6, 0.0, task)]
    ahead = analyze(changed(items, "a", "ood", {1}, 1.0))
    assert ahead.tasks[0].shown.ranks is not None
    assert ahead.tasks[0].shown.ranks.average["b"] < ahead.tasks[0].shown.ranks.average["a"]  # over seeds
    assert ahead.families["distance"].average == {"a": 1, "b": 2}
    failing = analyze(changed(changed(items, "a", "ood", {1}, 1.0), "a", "id", {1}, 0.5))
    assert failing.families["distance"].average == {"b": 1, "a": 2}


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_a_shown_but_unranked_score_changes_nothing_but_what_is_shown(scores: list[float]) -> None:
    """Of an encoding that never learns the task, and of two seeds of one that mostly does."""
    base = changed(observed(TYPICAL | {"mostly": (1.0, 0.8)}, noise=0.01), "mostly", "id", {1, 2}, 0.7)
    base += [replace(o, length=128) for o in base if o.split == "ood"]
    values, items = iter(scores), []
    for o in base:
        unranked = o.split == "ood" and (o.encoding == "weak" or (o.encoding == "mostly" and o.seed < 3))
        items.append(replace(o, score=next(values, o.score)) if unranked else o)
    one, two = only(base), only(items)
    for name in ("pairs", "verdict", "means", "areas", "learned", "reach", "steps"):
        assert getattr(one, name) == getattr(two, name)
    for r, other in zip(one.ranges, two.ranges, strict=True):
        assert r.ranks == other.ranks
        assert [r.cell(e).interval for e in one.encodings] == [other.cell(e).interval for e in one.encodings]
    (weak,) = (r.cell("weak").unranked for r in two.ranges if r.key == ("ood", 64))
    assert weak == pytest.approx(sum(o.score for o in items if (o.encoding, o.length) == ("weak", 64)) / 6)  # type: ignore[misc]


def test_a_seed_of_which_learning_is_unknown_is_in_no_test() -> None:
    """Its scores at longer lengths, and their area, say nothing about what was learned."""
    items = observed({"a": (1, 0.9), "b": (1, 0.5)}, 7)
    items += [replace(o, length=128) for o in items if o.split == "ood"]
    for missing in (
        [o for o in items if (o.encoding, o.seed, o.split) != ("b", 1, "id")],
        [replace(o, score=None) if (o.encoding, o.seed, o.split) == ("b", 1, "id") else o for o in items],
    ):
        task = only(missing)
        assert {p.basis: p.seeds for p in task.pairs} == dict.fromkeys(Basis, (7, 6)) and task.unknown == {"b": 1}


def test_the_order_of_rows_does_not_matter() -> None:
    items = observed(TYPICAL, noise=0.01)
    shuffled = items.copy()
    random.Random(1).shuffle(shuffled)
    one, two = only(items), only(shuffled)
    assert [words(r) for r in one.ranges] == [words(r) for r in two.ranges]
    assert one.verdict == two.verdict and one.encodings == two.encodings


def test_an_encoding_without_a_result_stays_in_the_table_and_needs_seeds() -> None:
    analysis = analyze(observed({"a": (1, 0.99), "b": (1, 0.3)}), planned={"recall": ["a", "b", "c"]})
    (task,) = analysis.tasks
    assert task.shown.cell("c").seeds == () and task.learned["c"] == (0, 0) and task.reach["c"].seeds == ()
    assert analysis.tests == 3 and analysis.seeds_needed == 5
    assert {frozenset((p.better, p.worse)) for p in task.pairs} == {frozenset("ab")}  # no row for what has no seeds
    assert task.shown.ranks is not None and task.shown.ranks.average == {"a": 1, "b": 2}
    assert task.verdict.use == ()  # nothing is known about c


@pytest.mark.parametrize("empty", [False, True])
def test_without_a_score_in_distribution_nobody_knows_whether_it_was_learned(empty: bool) -> None:
    """Neither learned nor failed: no test, no verdict, whether the row is missing or has no score."""
    items = observed({"a": (1, 1), "b": (1, 0.7)})
    if empty:
        items = [replace(o, score=None) if (o.encoding, o.split) == ("b", "id") else o for o in items]
    else:
        items = [o for o in items if (o.encoding, o.split) != ("b", "id")]
    task = only(items)
    assert task.shown.cell("b").words == {Word.UNKNOWN: 6} and task.shown.cell("b").interval is None
    assert task.learned == {"a": (6, 6), "b": (0, 0)} and task.unknown == {"b": 6}
    assert task.pairs == () and task.verdict.finding is Finding.OPEN
    assert not any(alarm.kind == "gate" for alarm in task.alarms)


def test_some_seeds_without_a_score_in_distribution_leave_the_others() -> None:
    task = only(
        [o for o in observed({"a": (1, 1), "b": (0.5, 0.4)}, 8) if (o.encoding, o.seed, o.split) != ("b", 1, "id")]
    )
    assert task.learned == {"a": (8, 8), "b": (0, 7)} and task.unknown == {"b": 1}
    assert pair(task, "a", "b", Basis.LEARNING).seeds == (8, 7)  # type: ignore[union-attr]


def test_a_run_without_a_number_in_distribution_did_not_learn_it() -> None:
    items = observed({"a": (1, 1), "b": (1, 1)})
    task = only([replace(o, score=None, diverged=True) if o.encoding == "b" else o for o in items])
    assert task.learned["b"] == (0, 6) and task.verdict.use == ("a",)


def test_no_number_beyond_is_no_limit_of_the_encoding() -> None:
    """It diverged there; who has scores there is not recommended for that."""
    items = observed({"a": (1, 0.5), "b": (1, 0.5)})
    task = only([replace(o, score=None, diverged=True) if (o.encoding, o.split) == ("b", "ood") else o for o in items])
    assert task.shown.cell("b").words == {Word.DIVERGED: 6} and task.verdict.use == ()
    assert DivergedRuns(tuple(("b", seed) for seed in range(1, 7)), beyond=True) in task.alarms


def test_rows_without_any_in_distribution_have_no_gate() -> None:
    task = only([o for o in observed({"a": (1, 0.9), "b": (1, 0.2)}) if o.split == "ood"])
    assert task.trained is None and task.reach == {} and {p.basis for p in task.pairs} == {Basis.SCORES}
    assert task.learned == {} and task.shown.cell("b").words == {Word.UNKNOWN: 6}
    assert task.verdict.use == ("a",)


def test_everything_is_plain_data() -> None:
    content = asdict(analyze(observed(TYPICAL)))
    assert content["rules"] == "2" and content["tasks"][0]["verdict"]["finding"] == "use"


class TestAlarms:
    """Each on data made for it, and on no other."""

    def kinds(self, items: list[Observation]) -> set[str]:
        return {alarm.kind for alarm in only(items).alarms} - {"seeds", "gate"}

    def facts(self, items: list[Observation], kind: str) -> list[Alarm]:
        return [alarm for alarm in only(items).alarms if alarm.kind == kind]

    def test_none(self) -> None:
        assert self.kinds(observed(TYPICAL)) == set()

    def test_floor(self) -> None:
        assert self.kinds(observed({"a": (0.06, 0.06), "b": (0.07, 0.06)})) == {"floor"}
        zero = [replace(o, score=0.0, floor=0.0, chance=0.0) for o in observed({"a": (0, 0), "b": (0, 0)})]
        assert self.kinds(zero) == {"floor"}
        assert self.facts(observed({"a": (1, CHANCE), "b": (1, CHANCE)}), "floor") == [Floor("ood", 64, CHANCE)]
        assert self.facts(observed({"a": (0.5, CHANCE), "b": (0.5, CHANCE)}), "floor") == []  # nothing was learned

    def test_ceiling(self) -> None:
        """All within noise of one value below the top: the data are at fault."""
        assert self.kinds(observed({"a": (0.894, 0.9), "b": (0.899, 0.9), "c": (0.896, 0.9)})) == {"ceiling"}
        assert self.kinds(observed({"a": (0.999, 0.5), "b": (1.0, 0.9)})) == set()
        top = [replace(o, sequences=40) for o in observed({"a": (1, 1), "b": (1, 1), "c": (0.92, 0.9)}, 6, 0.0)]
        assert "ceiling" not in self.kinds(top)
        assert self.kinds(observed({"a": (0.97, 0.97), "b": (0.972, 0.97)})) == set()  # all at the bar

    def test_gate(self) -> None:
        assert self.facts(observed({"a": (1, 1), "b": (0.6, 0.5)}), "gate") == [Gate({"b": (0, 6)})]

    def test_seeds(self) -> None:
        items = [o for o in observed({"a": (1, 1), "b": (1, 0.4)}) if (o.encoding, o.seed) != ("b", 6)]
        assert self.facts(items, "unequal") == [UnequalSeeds(6, {"b": 5})]
        assert self.facts(observed({"a": (1, 1), "b": (1, 0.4)}, 3), "seeds") == [FewSeeds(3, needed=5)]

    def test_other_problems(self) -> None:
        items = [replace(o, hash=o.encoding) for o in observed({"a": (1, 1), "b": (1, 0.4)})]
        assert self.facts(items, "sets") == [DifferentSets((("id", 32), ("ood", 64)))]

    def test_overlap(self) -> None:
        items = [replace(o, seen=0.3 * (o.split == "id")) for o in observed({"a": (1, 1), "b": (1, 0.4)})]
        assert self.facts(items, "overlap") == [Overlap((("id", 32, 0.3),))]

    def test_those_of_the_study_come_first(self) -> None:
        study = StudyFacts(arms=(ArmFacts("a", rate=0.1, edge="largest"),))
        (task,) = analyze(observed({"a": (1, 1), "b": (0.4, 0.4)}), study={"recall": study}).tasks
        assert task.alarms[0] == GridEdge("a", 0.1, "largest") and len(task.alarms) > 1


@pytest.mark.parametrize(("seeds", "use"), [(4, ()), (5, ("a",))])
def test_nobody_is_recommended_by_fewer_seeds_than_a_claim_needs(seeds: int, use: tuple[str, ...]) -> None:
    """Also where one of the others cannot go at all, so that there is one test alone."""
    items = [
        Observation("task", name, seed, split, length, score)
        for seed in range(seeds)
        for name, far in (("a", 1.0), ("b", None), ("c", 0.2))
        for split, length, score in (("id", 8, 1.0), ("ood", 16, far))
    ]
    (task,) = analyze(items).tasks
    assert task.verdict.use == use
