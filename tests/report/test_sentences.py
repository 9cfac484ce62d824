"""What is said about a comparison: nothing false, nothing that a newcomer would misread."""

import re
from dataclasses import replace

import pytest
from rich.console import Console
from tests.report.sample import trained

from ordinate.report.terminal import show
from ordinate.statistics.alarms import Damaged, DivergedRuns, FewSeeds, Floor, Gate, Oversized, UnequalSeeds
from ordinate.statistics.analyze import analyze
from ordinate.statistics.observations import Observation
from ordinate.statistics.phrases import cell_words, reach_words, steps_words
from ordinate.statistics.reach import Reach
from ordinate.statistics.sentences import sentences, verdicts
from ordinate.statistics.types import Alarm, Analysis, StudyFacts

LENGTHS = (32, 40, 48, 64, 96, 128)
Scores = dict[str, tuple[float | None, ...]]

STORY: Scores = {
    "rope": (1, 1, 1, 1, 1, 1), "t5": (1, 1, 1, 0.97, 0.8, 0.6), "learned": (1, 0.7, 0.5, None, None, None),
    "sinusoidal": (1, 0.7, 0.5, 0.2, 0.1, 0.1), "alibi": (0.9, 0.8, 0.7, 0.6, 0.5, 0.4),
    "none": (0.5, 0.4, 0.3, 0.2, 0.1, 0.1),
}  # fmt: skip


def observed(scores: Scores, seeds: int = 6) -> list[Observation]:
    """A little noise by seed, which never crosses the bar."""
    return [
        Observation(
            "recall", encoding, seed, "id" if length == 32 else "ood", length,
            None if score is None else score - 0.001 * ((seed * 7 + index) % 5), 0.06, 0.06, 1000,
        )
        for index, (encoding, own) in enumerate(scores.items())
        for length, score in zip(LENGTHS, own, strict=False)
        for seed in range(1, seeds + 1)
    ]  # fmt: skip


def changed(items: list[Observation], encoding: str, length: int, seeds: set[int], score: float) -> list[Observation]:
    return [
        replace(o, score=score) if (o.encoding, o.length) == (encoding, length) and o.seed in seeds else o
        for o in items
    ]


def said(items: list[Observation]) -> tuple[str, ...]:
    analysis = analyze(items)
    return sentences(analysis, analysis.tasks[0])


def test_the_headline_tells_the_whole_story() -> None:
    first, second, third, *rest = said(observed(STORY))
    assert first == (
        "Use rope: above t5 and sinusoidal at OOD length 64 (2x) (mean 0.998) and over 1x to 4x (mean 0.998), above "
        "learned over 1x to 4x (mean 0.998), above alibi and none (no encoding) by the number of seeds that "
        "learned the task."
    )
    assert second == (
        "rope holds to at least 4x; t5 to 2.08x (2.08x to 2.1x); sinusoidal to 1.04x (1.03x to 1.04x); learned to "
        "1.04x (1.03x to 1.04x); alibi and none (no encoding) did not learn it."
    )
    assert third == (
        "Not ranked: of its score above chance, alibi (0.90) keeps 40 % at OOD length 128 (4x); none (no encoding) "
        "(0.50) keeps 9 % at OOD length 128 (4x)."
    )
    assert rest[-2] == "6 seeds that all agree leave a failure rate of up to 39 % unseen."
    assert rest[-1].startswith(
        "Simulated comparisons of 6 encodings that do not differ, with 6 seeds each, claim some difference in 3 %"
    )
    assert rest[0].startswith(
        "Learned in more seeds: rope, t5, learned and sinusoidal over alibi and none (no encoding) (6 of"
    )
    assert len(rest) <= 5  # however many lengths are tested


def test_seeds_that_differ_are_told() -> None:
    items = changed(observed({"a": STORY["t5"], "b": STORY["sinusoidal"]}), "a", 64, {1, 2}, 0.5)
    items = changed(items, "a", 96, {3}, 1.0)
    items = changed(items, "b", 32, {5, 6}, 0.8)
    assert said(items)[1] == (
        "a holds to 2.08x (1.54x to 3.11x); b to 1.04x (1.03x to 1.04x; learned by 4 of 6 seeds)."
    )


def test_two_that_are_not_told_apart_are_both_to_be_used() -> None:
    lines = said(observed({"a": STORY["rope"], "b": STORY["rope"], "c": STORY["sinusoidal"]}))
    assert lines[0] == (
        "Use a or b (best mean first): above c at OOD length 64 (2x) (mean 0.998 and 0.998) and over 1x to 4x (mean "
        "0.998 and 0.998)."
    )
    assert lines[1] == "a and b hold to at least 4x; c to 1.04x (1.03x to 1.04x)."
    farther = said(observed({"a": STORY["rope"], "b": (1, 1, 1, 0.999, 0.9, 0.8), "c": STORY["sinusoidal"]}))
    assert farther[0].startswith("Use a: above b over 1x to 4x (mean 0.998), above c at OOD length 64 (2x)")
    assert any(line.startswith("Not told apart at OOD length 64 (2x): ") for line in lines)


def test_what_is_not_shown_is_said_to_be_open() -> None:
    lines = said(observed({"a": STORY["rope"], "b": STORY["rope"]}))
    assert lines[0] == "a and b hold to at least 4x."
    assert lines[1] == (
        "Not one encoding is shown to be above all others at OOD length 64 (2x); the best mean there, 0.998, is that "
        "of a and b."
    )
    assert not any("Use" in line or "unseen" in line for line in lines)
    few = said(observed(dict.fromkeys("abcdef", STORY["rope"]), 4))
    assert few[-1] == "A claim about scores takes 5 seeds; there are 4."
    one = said(observed({"a": STORY["rope"], "b": STORY["rope"]}, 1))
    assert one[-1] == "A claim about scores takes 5 seeds; there is 1."


def test_nobody_is_called_none() -> None:
    scores = {"none": STORY["rope"], "rope": STORY["sinusoidal"]}
    text = " ".join(said(observed(scores)))
    assert (
        text.startswith("Use none (no encoding): above rope at OOD")
        and "none (no encoding) holds to at least 4x" in text
    )
    other = said(observed({"none": STORY["rope"], "rope": STORY["rope"]}))[0]
    assert other.startswith(("none (no encoding) and rope hold", "rope and none (no encoding) hold"))
    alone = said(observed({"none": STORY["alibi"], "rope": STORY["rope"]}))[1]
    assert alone.endswith("; none (no encoding) did not learn it.")
    only = said([replace(o, score=1.0) if o.encoding == "none" else o for o in observed({"none": (1,), "x": (1,)}, 3)])
    assert only[1].endswith("the best mean there, 1.000, is that of none (no encoding).")


def test_nobody_learned_it() -> None:
    first = said(observed({"a": (0.6, 0.5), "b": (0.4, 0.3)}))[0]
    assert first.startswith("Not one encoding learned recall (a comes closest, 0.6")
    assert "nothing can be said about longer sequences" in first
    lost = [replace(o, score=None, diverged=True) for o in observed({"a": (1, 1), "b": (1, 1)})]
    assert said(lost)[0] == "Every run on recall diverged, so nothing can be compared: lower the learning rate."


def test_losses_have_no_reach() -> None:
    items = [replace(o, bar=None, direction="lower") for o in observed({"a": (1.0, 1.0), "b": (2.0, 2.0)})]
    lines = said(items)
    assert lines[0] == "Use a: a lower loss than b at OOD length 40 (1.25x) (mean 0.998)."
    assert "Lower loss at OOD length 40 (1.25x): a over b" in lines[1]


def test_one_alone_is_no_comparison() -> None:
    assert said(observed({"a": STORY["rope"]})) == (
        "a holds to at least 4x.", "One encoding alone is no comparison.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reach", "text"),
    [
        (Reach((2.0, 2.0), 4.0), "2x"), (Reach((1.25, None, 3.0, 1.25), 4.0), "1.25x (1.25x to 3x)"),
        (Reach((1.0, None, None), 4.0), "1x (of 1 of 3 seeds)"),
        (Reach((None,), 4.0), "-"), (Reach((), 4.0), "-"),
        (Reach((1.0, None), 4.0, 1), "1x (not tested at the next length)"),
        (Reach((1.0, 2.0), 4.0, 1), "1x (1x to 2x; 1 of 2 not tested at the next length)"),
        (Reach((1.0, 1.0), 1.0, 2), "1x (not tested beyond)"), (Reach((4.0, 4.0), 4.0), "4x+"),
        (Reach((2.317, 3.0, 3.5, 4.0, 4.0, 4.0), 4.0), "3.5x (2.32x to 4x+)"),
    ],
)  # fmt: skip
def test_reach_in_words(reach: Reach, text: str) -> None:
    assert reach_words(reach) == text


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((300, 300), "300"), ((200, 300, 500), "300 (200 to 500)"), ((None, None), "more than 1000"),
        ((100, None, None), "more than 1000 (100 to more than 1000)"),
        ((100, 200, None), "200 (100 to more than 1000)"), ((), "-"),
    ],
)  # fmt: skip
def test_steps_in_words(steps: tuple[int | None, ...], text: str) -> None:
    assert steps_words(trained(steps, 1000)) == text


def test_cells_in_words() -> None:
    items = changed(observed({"a": STORY["rope"], "b": STORY["alibi"]}), "a", 64, {1, 2}, 0.05)
    analysis = analyze(items, planned={"recall": ["a", "b", "c"]})
    shown = analysis.tasks[0].shown
    assert [cell_words(shown.cell(name)) for name in "abc"] == [
        "mixed: 4 solve, 2 fit",
        "did not fit (0.90)",
        "no result",
    ]


def test_who_did_not_fit_is_seen_to_be_below_the_bar() -> None:
    items = [replace(o, score=0.9499) if o.encoding == "b" else o for o in observed({"a": (1, 1), "b": (1, 1)})]
    assert cell_words(analyze(items).tasks[0].shown.cell("b")) == "did not fit (0.9499)"


def test_missing_scores_are_told_and_no_claim_is_made_of_them() -> None:
    items = [o for o in observed({"x": STORY["rope"], "y": STORY["t5"]}) if (o.encoding, o.length) != ("x", 32)]
    lines = said(items)
    assert lines[0] == "y holds to 2.08x (2.08x to 2.1x)."
    assert lines[2] == (
        "No score in distribution at length 32: x (6 seeds). Whether these seeds learned the task is unknown, so they "
        "are not compared: add rows with split id and length 32."
    )
    assert not any("did not learn" in line or "Use" in line or "unseen" in line for line in lines)


def test_a_recommendation_names_its_failures() -> None:
    items = observed({"x": STORY["t5"], "y": STORY["sinusoidal"]}, 8)
    once = changed(items, "x", 32, {1, 2}, 0.5)
    lines = said(once)
    assert lines[1].startswith("Not one encoding is shown to be above all others at OOD length 64 (2x)")
    group = {"x": STORY["t5"], "w": STORY["t5"], "y": STORY["sinusoidal"]}
    some = said(changed(observed(group, 8), "x", 32, {1}, 0.5))
    assert some[0].startswith("Use w or x (best mean first): above y at OOD length 64 (2x) (mean 0.968 and 0.854)")
    assert some[-3:-1] == (
        "Failed: x in 1 of 8 seeds, a rate of 12 % (95 % interval 0 to 53 %).",
        "Where no seed failed, 8 seeds leave a failure rate of up to 31 % unseen.",
    )


def test_to_go_where_others_cannot_is_a_fact_and_no_advice() -> None:
    """Where one longer length is tested; over several, an encoding counts as the floor where it cannot go."""
    both = observed({"x": STORY["t5"], "learned": STORY["learned"]})
    assert said(both)[0] == "Use x: above learned over 1x to 4x (mean 0.899)."
    lines = said([o for o in both if o.length in (32, 64)])
    assert lines[1] == "Only x can go to OOD length 64 (2x) (0.968); learned cannot, so nothing is tested there."
    assert not any("Use" in line or "tell no pair" in line for line in lines)


def test_a_recommendation_says_where_it_loses() -> None:
    """x is below the bar at 1.25x and at it at 2x, where it is tested."""
    lines = said(observed({"x": (1, 0.9, 1, 1), "z": (1, 1, 1, 0.3)}))
    assert lines[:3] == (
        "Use x: above z at OOD length 64 (2x) (mean 0.998) and over 1x to 2x (mean 0.969).",
        "Others are higher at OOD length 40 (1.25x) (z 0.998 against 0.898).",
        "z holds to 1.53x; x to 1.11x (1.11x to 1.12x).",
    )
    alike = said(observed({"x": (1, 0.9, 0.9, 0.9), "z": (1, 0.9, 0.9, 0.3)}))
    assert alike[0].startswith("Use x: above z") and not any("Others" in line for line in alike)


def test_what_no_encoding_reaches_is_said() -> None:
    lines = said(observed({"a": (1, None, None, None), "b": (1, None, None, None)}))
    assert lines[:2] == ("a and b hold to 1x.", "Not one encoding that learned it has a score at OOD length 64 (2x).")


def test_what_is_not_finished_is_said_so_far() -> None:
    analysis = analyze(observed(STORY), study={"recall": StudyFacts(36, 78)})
    assert sentences(analysis, analysis.tasks[0])[0].startswith("So far (36 of 78 runs): Use rope: above t5")


def test_learning_is_not_said_to_be_tested_at_longer_lengths() -> None:
    first = said(observed({"a": (1, 0.06, 0.06, 0.06), "b": (0.5, 0.4, 0.3, 0.2)}))[0]
    assert first == "Use a: above b by the number of seeds that learned the task."


@pytest.mark.parametrize(
    ("alarm", "words"),
    [
        (Oversized("x", 50.3), "what x adds is 50 times as large as the token embeddings"),
        (Oversized("x", 50.3), "set size=1 to match"),
        (
            Floor("id", 8, 0.1),
            "ID length 8: every encoding is at",
        ),
        (Floor("ood", 8, 0.1), "nothing can be compared there"),
        (Gate({"none": (0, 6)}), "none (no encoding) in 0 of 6"),
        (UnequalSeeds(6, {"b": 5}), "not all encodings have the same 6 seeds: b has 5"),
        (FewSeeds(1, 5), "there is 1 seed, and a claim about scores takes 5"),
        (FewSeeds(3, 5), "there are 3 seeds, and a claim"),
        (
            DivergedRuns((("b", 2),), beyond=True),
            "beyond the trained length is NaN: b (seed 2); lower the learning rate",
        ),
        (
            Damaged("a", "12ab", 2, 0.1, "bad"),
            "a: run 12ab (seed 2) cannot be read and is left out: bad",
        ),
    ],
)
def test_alarms_say_who_what_and_what_to_do(alarm: Alarm, words: str) -> None:
    assert words in alarm.sentence()


def printed(analysis: Analysis, width: int = 110) -> str:
    console = Console(width=width, highlight=False, markup=False, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    show(analysis, console)
    return console.export_text()


def test_the_table_of_a_terminal_has_a_row_per_encoding() -> None:
    steps = {"recall": {name: trained((100, 200, None), 2000) for name in STORY}}
    analysis = analyze(observed(STORY), steps=steps)
    text = printed(analysis, width=1000)  # no cell is broken, however many columns there are
    assert "recall, 6 seeds  (trained to 32, floor 0.06 at OOD length 64 (2x))" in text
    titles, *rows = (re.split(r"\s{2,}", line.strip()) for line in text.strip().splitlines()[1:8])
    assert [row[0] for row in rows] == ["rope", "t5", "alibi", "sinusoidal", "none", "learned"]
    cells = {
        "encoding": "rope", "verdict": "solves", "learned": "6 of 6 (54-100 %)",
        "steps to learn": "200 (100 to >2000)", "reach": "4x+", "gap": "0.000", "kept": "100%",
        "ID length 32": "0.998", "OOD length 64 (2x)": "0.998 [0.995, 0.999]",
    }  # fmt: skip
    assert cells.items() <= dict(zip(titles, rows[0], strict=True)).items() and "OOD length 96" not in text
    unranked = {"verdict": "did not fit (0.90)", "reach": "-", "gap": "0.300", "kept": "64%"}
    assert unranked.items() <= dict(zip(titles, rows[2], strict=True)).items() and "0.598, not ranked" in rows[2]
    assert all(len(line.rstrip()) <= 110 for line in printed(analysis).splitlines())


@pytest.mark.parametrize("width", [60, 80, 100, 120, 180])
def test_a_narrow_terminal_leaves_columns_out_and_breaks_no_cell(width: int) -> None:
    steps = {"recall": {name: trained((100, 200, None), 2000) for name in STORY}}
    lines = printed(analyze(changed(observed(STORY), "t5", 32, {1}, 0.5), steps=steps), width).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("encoding  "))
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[start + 1 : start + 7]]
    assert sorted(row[0] for row in rows) == sorted(STORY) and len({len(row) for row in rows}) == 1
    assert all(len(line) <= width for line in lines)
    assert any("0.968 [0.966, 0.970] 0.967, not ranked" in row for row in rows)
    dropped = " ".join(lines[start + 7 : start + 9])
    assert ("No room for verdict" in dropped and "--format md" in dropped) is (width < 180)


def test_a_baseline_that_is_not_known_is_not_printed() -> None:
    """A file of losses without a chance level has no "best baseline 0.00"."""
    items = [replace(o, chance=0.0, floor=0.0) for o in observed({"a": (1, 0.9), "b": (1, 0.8)})]
    for own in (items, [replace(o, bar=None, direction="lower") for o in items]):
        text = printed(analyze(own))
        assert "(trained to 32, no chance level given)" in text and "0.00 at" not in text


def test_all_verdicts_name_their_task() -> None:
    items = observed(STORY)
    both = analyze([*items, *(replace(o, task="copy") for o in items)])
    assert {line.partition(": ")[0] for line in verdicts(both)} == {"recall", "copy"}
