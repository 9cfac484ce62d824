"""The rules of a fair comparison, on made-up scores."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.statistics.analyse import analyse
from ordinate.statistics.analysis import Alarm, Range, TaskAnalysis
from ordinate.statistics.observation import Observation

CHANCE, N = 1 / 16, 1000
Scores = dict[str, tuple[float, float | None]]


def observed(scores: Scores, seeds: int = 5, noise: float = 0.003, task: str = "recall") -> list[Observation]:
    """In distribution at 32 and longer at 64, with a little noise by seed."""
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
    (task,) = analyse(items, **more).tasks  # type: ignore[arg-type]
    return task


def words(r: Range) -> dict[str, str]:
    return {cell.encoding: cell.word for cell in r.cells}


TYPICAL: Scores = {
    "turns": (1.0, 0.99), "half": (0.99, 0.5), "table": (1.0, CHANCE), "short": (1.0, None), "weak": (0.63, 0.6),
    "blind": (CHANCE, CHANCE),
}  # fmt: skip


def test_every_word_in_its_place() -> None:
    task = only(observed(TYPICAL, noise=0.0))
    inside, outside = task.ranges
    assert words(outside) == {
        "turns": "solves", "half": "partial", "table": "fits", "short": "out of range", "weak": "did not fit (0.63)",
        "blind": "at chance",
    }  # fmt: skip
    assert words(inside)["half"] == "solves" and words(inside)["weak"] == "did not fit (0.63)"
    assert task.fits == {
        "turns": (5, 5),
        "half": (5, 5),
        "table": (5, 5),
        "short": (5, 5),
        "weak": (0, 5),
        "blind": (0, 5),
    }
    assert task.encodings[:3] == ("turns", "half", "table")
    assert task.verdict[0] == "turns alone solves recall beyond training (longer 64), in all 5 seeds."
    enough = only(observed(TYPICAL, seeds=10))
    assert enough.verdict[0] == "Use turns: it alone solves recall beyond training (longer 64), in all 10 seeds."


def test_who_did_not_fit_has_no_score_beyond() -> None:
    task = only(observed(TYPICAL))
    cells = {cell.encoding: cell for cell in task.ranges[1].cells}
    assert cells["weak"].interval is None and cells["weak"].counted == (False,) * 5
    assert cells["weak"].scores[0] is not None  # kept, for whoever looks for it; never counted
    told = {p.remark for p in task.ranges[1].pairs if "weak" in (p.better, p.worse)}
    assert told == {"no seed where both have a score to report"}


def test_seeds_that_disagree_are_counted() -> None:
    items = observed({"a": (1.0, 1.0), "b": (1.0, 1.0)})
    items = [replace(o, score=0.06) if (o.encoding, o.split) == ("b", "ood") and o.seed > 3 else o for o in items]
    task = only(items)
    assert words(task.ranges[1])["b"] == "mixed: 3 solve, 2 fit"
    assert task.verdict[0] == "a alone solves recall beyond training (longer 64), in all 5 seeds."


def test_only_seeds_where_both_fitted_are_compared() -> None:
    items = observed({"a": (1.0, 0.9), "b": (1.0, 0.5)}, seeds=8)
    items = [replace(o, score=0.5) if (o.encoding, o.split) == ("b", "id") and o.seed < 3 else o for o in items]
    task = only(items)
    (pair,) = task.ranges[1].pairs
    assert pair.seeds == 6 and pair.claim and pair.better == "a"
    (fit,) = task.fit_pairs
    assert fit.seeds == 8 and fit.difference is not None and fit.difference.mean == 0.25 and not fit.claim


def test_a_claim_needs_enough_seeds() -> None:
    """Six for two encodings; with five, nothing can be claimed, however large the difference."""
    scores: Scores = {"a": (1.0, 0.99), "b": (1.0, 0.3)}
    for seeds in (5, 6):
        task = only(observed(scores, seeds))
        (pair,) = task.ranges[1].pairs
        assert pair.claim is (seeds == 6) and task.seeds_needed == 6
        assert (pair.remark == "not enough seeds for a claim (5 of 6)") is (seeds == 5)
        assert any(alarm.kind == "seeds" for alarm in task.alarms) is (seeds == 5)
    assert "--seeds 6" in " ".join(only(observed(scores, 5)).verdict)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6), st.integers(0, 100))
def test_five_seeds_never_give_a_claim(levels: list[tuple[float, float]], salt: int) -> None:
    source = random.Random(salt)
    items = observed({f"e{i}": level for i, level in enumerate(levels)}, 5, source.uniform(0, 0.2))
    task = only(items)
    pairs = [*task.fit_pairs, *(pair for r in task.ranges for pair in r.pairs)]
    assert len(pairs) == 3 * len(levels) * (len(levels) - 1) // 2
    assert not any(pair.claim for pair in pairs)


def test_equal_encodings_are_alike() -> None:
    task = only(observed({"a": (1.0, 0.9), "b": (1.0, 0.9)}, seeds=8))
    (pair,) = task.ranges[1].pairs
    assert not pair.claim and pair.remark == "no difference that matters (within 0.02)"
    items = [replace(o, score=1.0) if o.split == "id" else o for o in observed({"a": (1, 0.8), "b": (1, 0.8)}, 8, 0.05)]
    (pair,) = only(items).ranges[1].pairs
    assert not pair.claim and pair.remark == "no evidence of a difference"


def test_nothing_inside_the_band_of_the_floor_wins() -> None:
    """A difference of one point at chance is significant over seeds, and still no win."""
    task = only(observed({"a": (1.0, 0.070), "b": (1.0, 0.060)}, seeds=8, noise=0.0))
    (pair,) = task.ranges[1].pairs
    assert pair.corrected is not None and pair.corrected < 0.05
    assert not pair.claim and pair.remark == "both at the floor"
    ranks = task.ranges[1].ranks
    assert ranks is not None and ranks.average == {"a": 1.5, "b": 1.5}


def test_who_has_nothing_to_report_shares_the_last_rank() -> None:
    ranks = only(observed(TYPICAL, noise=0.0)).ranges[1].ranks
    assert ranks is not None
    assert ranks.average == {"turns": 1, "half": 2, "table": 3, "short": 5, "weak": 5, "blind": 5}
    assert ranks.reciprocal["half"] == 0.5


def test_a_loss_has_no_gate_and_no_words() -> None:
    items = [
        replace(o, bar=None, direction="lower", score=None if o.score is None else 2 - o.score)
        for o in observed({"a": (0.5, 0.4), "b": (0.3, 0.1)}, seeds=6)
    ]
    task = only(items)
    assert task.fits == {} and task.fit_pairs == () and set(words(task.ranges[0]).values()) == {""}
    (pair,) = task.ranges[1].pairs
    assert pair.better == "a" and pair.claim and pair.difference is not None and pair.difference.mean < 0
    assert "Use a: it has the best score" in task.verdict[0]
    assert task.encodings[0] == "a"


def test_a_diverged_run_is_told_and_not_counted() -> None:
    items = [replace(o, score=None, diverged=True) if o.seed == 2 else o for o in observed({"a": (1, 1), "b": (1, 1)})]
    task = only(items)
    assert words(task.ranges[1])["a"] == "mixed: 4 solve, 1 diverged"
    assert Alarm("diverged", "training diverged: a (seed 2), b (seed 2)") in task.alarms
    assert task.fits["a"] == (4, 5)


def test_nobody_learnt_it() -> None:
    task = only(observed({"a": (0.6, 0.5), "b": (0.4, 0.3)}))
    assert task.verdict[0].startswith("No encoding learnt recall with this budget (a comes closest, 0.")
    assert "nothing can be said about longer sequences" in task.verdict[0]


def test_one_of_several_that_solve_is_not_singled_out() -> None:
    task = only(observed({"a": (1.0, 1.0), "b": (1.0, 0.99), "c": (1.0, 0.1)}, seeds=8))
    assert task.verdict[0] == "Use a or b: a and b both solve recall beyond training (longer 64), in all 8 seeds."


def test_looks_lower_alpha() -> None:
    items = observed({"a": (1.0, 0.99), "b": (1.0, 0.3)}, 6)
    assert only(items).ranges[1].pairs[0].claim
    later = only(items, alpha=0.05 / 3)
    assert not later.ranges[1].pairs[0].claim and later.seeds_needed == 7


def test_ranks_by_family_are_over_tasks() -> None:
    items = [
        *observed({"a": (1, 0.9), "b": (1, 0.5)}, task="one"), *observed({"a": (1, 0.9), "b": (1, 0.5)}, task="two"),
        *(replace(o, family="copying") for o in observed({"a": (1, 0.2), "b": (1, 0.9)}, task="three")),
    ]  # fmt: skip
    families = analyse(items).families
    assert families.keys() == {"distance", "all tasks"}
    assert families["distance"].average == {"a": 1, "b": 2} and families["distance"].blocks == 2
    assert families["all tasks"].average == pytest.approx({"a": 4 / 3, "b": 5 / 3})
    assert families["all tasks"].reciprocal["a"] == pytest.approx((1 + 1 + 0.5) / 3)


def test_the_order_of_rows_does_not_matter() -> None:
    items = observed(TYPICAL, noise=0.01)
    shuffled = items.copy()
    random.Random(1).shuffle(shuffled)
    one, two = only(items), only(shuffled)
    assert [words(r) for r in one.ranges] == [words(r) for r in two.ranges]
    assert one.verdict == two.verdict and one.encodings == two.encodings


class TestAlarms:
    """Each on data made for it, and on no other."""

    def kinds(self, items: list[Observation]) -> set[str]:
        return {alarm.kind for alarm in only(items).alarms} - {"seeds", "gate"}

    def test_none(self) -> None:
        assert self.kinds(observed(TYPICAL)) == set()

    def test_floor(self) -> None:
        assert self.kinds(observed({"a": (0.06, 0.06), "b": (0.07, 0.06)})) == {"floor"}
        zero = [replace(o, score=0.0, floor=0.0, chance=0.0) for o in observed({"a": (0, 0), "b": (0, 0)})]
        assert self.kinds(zero) == {"floor"}

    def test_ceiling(self) -> None:
        """All within noise of one value below the top: the data are at fault."""
        assert self.kinds(observed({"a": (0.894, 0.9), "b": (0.899, 0.9), "c": (0.896, 0.9)})) == {"ceiling"}
        assert self.kinds(observed({"a": (0.999, 0.5), "b": (1.0, 0.9)})) == set()

    def test_gate(self) -> None:
        (alarm,) = [a for a in only(observed({"a": (1, 1), "b": (0.6, 0.5)}, 6)).alarms if a.kind == "gate"]
        assert "b 0 of 6" in alarm.text and "a " not in alarm.text.partition(":")[2].partition(";")[0]

    def test_seeds(self) -> None:
        items = [o for o in observed({"a": (1, 1), "b": (1, 0.4)}, 6) if (o.encoding, o.seed) != ("b", 6)]
        texts = [a.text for a in only(items).alarms if a.kind == "seeds"]
        assert texts == ["unequal seeds (b 5 of 6): pairs are compared on those that both have"]

    def test_other_problems(self) -> None:
        items = [replace(o, hash=o.encoding) for o in observed({"a": (1, 1), "b": (1, 0.4)}, 6)]
        assert self.kinds(items) == {"sets"}

    def test_overlap(self) -> None:
        items = [replace(o, seen=0.3 * (o.split == "id")) for o in observed({"a": (1, 1), "b": (1, 0.4)}, 6)]
        (alarm,) = [a for a in only(items).alarms if a.kind == "overlap"]
        assert "30% of id 32" in alarm.text and "ood" not in alarm.text

    def test_those_of_the_study_are_kept(self) -> None:
        edge = Alarm("grid edge", "a: the best learning rate (0.1) is the largest that was tried")
        (task,) = analyse(observed({"a": (1, 1), "b": (1, 0.4)}, 6), alarms={"recall": [edge]}).tasks
        assert edge in task.alarms


# Sentences that must not be false.


def changed(items: list[Observation], encoding: str, split: str, seeds: set[int], score: float) -> list[Observation]:
    return [
        replace(o, score=score) if (o.encoding, o.split) == (encoding, split) and o.seed in seeds else o for o in items
    ]


def test_the_furthest_has_the_best_mean_not_the_most_seeds() -> None:
    items = changed(observed({"a": (1, CHANCE), "b": (1, 0.94)}, 8, 0.0), "b", "id", {1}, 0.8)
    task = only(items)
    assert task.verdict[0] == (
        "No encoding solves recall beyond training in every seed; b goes furthest (0.940, longer 64, in the 7 of 8 "
        "seeds that learnt the task)."
    )
    assert task.encodings[0] == "b"


def test_no_use_without_a_test() -> None:
    """Alone in solving it everywhere, and still not shown to be better than one that nearly does."""
    items = changed(observed({"a": (1, 1), "b": (1, 1)}, 8, 0.0), "b", "ood", {1}, 0.9)
    task = only(items)
    assert task.verdict[0].startswith("a alone solves recall") and task.verdict[0].endswith(
        "not shown to be better than b."
    )
    assert not any(line.startswith("Use") for line in task.verdict)


def test_an_encoding_without_a_result_stays_in_the_table_and_in_the_correction() -> None:
    items = observed({"a": (1, 0.99), "b": (1, 0.3)}, 6)
    (task,) = analyse(items, planned={"recall": ["a", "b", "c"]}).tasks
    assert words(task.ranges[1])["c"] == "no result" and task.fits["c"] == (0, 0)
    assert len(task.ranges[1].pairs) == 3 and task.seeds_needed == 7
    assert not any(pair.claim for pair in task.ranges[1].pairs)
    assert task.ranges[1].ranks is not None and task.ranges[1].ranks.average == {"a": 1, "b": 2}


def test_unequal_seeds_count_as_what_is_common() -> None:
    items = [o for o in observed({"a": (1, 1), "b": (1, 0.4)}, 8) if o.encoding != "a" or o.seed <= 4]
    task = only(items)
    assert "in all 4 seeds" in task.verdict[0] and "4 of the 6 that 2 encodings need" in task.verdict[-1]


def test_a_seed_without_a_score_in_distribution_is_not_gated() -> None:
    items = [o for o in observed({"a": (1, 1), "b": (1, 0.7)}) if (o.encoding, o.split) != ("b", "id")]
    task = only(items)
    assert words(task.ranges[1])["b"] == "not scored in distribution" and words(task.ranges[0])["b"] == "no result"
    assert "0.70" not in " ".join(task.verdict)


def test_alike_is_said() -> None:
    task = only(observed({"a": (1.0, 0.9), "b": (1.0, 0.9)}, seeds=8))
    assert "No difference above 0.02 (longer 64)" in task.verdict[-1]


def test_all_diverged() -> None:
    items = [replace(o, score=None, diverged=True) for o in observed({"a": (1, 1), "b": (1, 1)})]
    assert "(every run diverged, bar 0.95)" in only(items).verdict[0]


def test_a_floor_beyond_training_does_not_say_that_nothing_was_learnt() -> None:
    (alarm,) = [a for a in only(observed({"a": (1, CHANCE), "b": (1, CHANCE)}, 6)).alarms if a.kind == "floor"]
    assert "longer 64" in alarm.text and "nothing was learnt" not in alarm.text


def test_no_ceiling_where_somebody_is_at_the_top() -> None:
    items = [replace(o, sequences=40) for o in observed({"a": (1, 1), "b": (1, 1), "c": (0.92, 0.9)}, 6, 0.0)]
    assert "ceiling" not in {alarm.kind for alarm in only(items).alarms}
