"""One meaning of "learned": how training ended, as a sentence, as a cell, as an alarm, as a kind of box."""

import shlex
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ordinate import tasks
from ordinate.report import render
from ordinate.report.comparison_tables import pairs
from ordinate.report.summary import COLUMNS, by_score
from ordinate.results.comparison import from_results
from ordinate.statistics.alarms import Ceiling
from ordinate.statistics.analyze import analyze
from ordinate.statistics.learning import TrainingEnd, ended
from ordinate.statistics.observations import Observation
from ordinate.statistics.phrases import training_words
from ordinate.statistics.sentences import sentences
from ordinate.statistics.types import StudyFacts
from ordinate.statistics.words import Word

from .states import BUDGET, LONGER, STATES, state

Row = dict[str, str]


def said(name: str, seeds: int = 6) -> str:
    analysis = state(name, seeds)
    return " ".join(sentences(analysis, analysis.tasks[0]))


def row(name: str, encoding: str, seeds: int = 6) -> Row:
    (task,) = state(name, seeds).tasks
    return {column.name: column.shown(task, encoding) for column in COLUMNS if column.applies(task)}


def alarms(name: str) -> dict[str, str]:
    return {alarm.kind: alarm.sentence() for alarm in state(name).tasks[0].alarms}


def test_a_curve_that_rises_has_not_failed() -> None:
    text = said("rising")
    assert "fire: not within 1,500 steps, still rising (0.88)." in text and "did not learn" not in text
    assert "learned the task within the budget (still rising at its end: fire)" in text
    assert row("rising", "fire") | {"verdict": "still rising (0.88)", "steps": ">1500", "reach": "-"} == row(
        "rising", "fire"
    )
    assert alarms("rising")["budget"] == (
        "still rising when the budget ended: fire (6 of 6 seeds, 1,500 steps); more steps may change the result:  "
        f"{LONGER}"
    )


def test_what_was_reached_and_lost_is_a_state_of_its_own() -> None:
    assert "fire reached the bar at step 1,350 in 6 of 6 seeds, ended below it (0.93)." in said("lost")
    cells = row("lost", "fire")
    assert (
        cells["verdict"] == "lost again (0.93)"
        and cells["learned"].startswith("0 of 6")
        and "budget" not in alarms("lost")
    )
    assert cells["steps"] == ">1500"  # no seed that did not learn the task has steps to learn it


def test_nothing_holds_that_most_seeds_did_not_learn() -> None:
    text = said("few", 3)
    assert "rope learned it in 1 of 3 seeds only (1 seed still rising, 1 lost it again)" in text
    assert "rope holds" not in text and "rope to" not in text
    assert "is that of fire." in text
    cells = row("few", "rope", 3)
    assert cells["reach"].endswith("of 1 of 3 seeds)") and cells["learned"].startswith("1 of 3")
    assert cells["steps"] == ">1500 (1450 to >1500)"  # of which one seed of three learned the task


def test_seeds_that_learned_have_steps() -> None:
    """The final score is at the bar, though two checks in a row never were."""
    cells = row("late", "rope")
    assert cells["learned"].startswith("6 of 6") and cells["steps"] == "1500"


def test_divergence_has_its_own_advice() -> None:
    text = said("diverged")
    assert text.startswith("Every run on recall diverged, so nothing can be compared: lower the learning rate.")
    assert "longer" not in text and "easier" not in text
    assert row("diverged", "rope")["verdict"] == "diverged"
    told = alarms("diverged")
    assert told["diverged"].endswith("lower the learning rate") and not {"floor", "budget"} & told.keys()


def test_nothing_learned_says_how_close_and_within_which_budget() -> None:
    assert said("nothing").startswith(
        "Not one encoding learned recall within 1,500 steps (rope comes closest, 0.50, bar 0.95), so nothing can be "
        "said about longer sequences: train longer, or make the task easier."
    )
    assert "(rope comes closest, 0.88 and still rising, bar 0.95)" in said("all rising")
    assert "(every one is at the floor, bar 0.95)" in said("at chance")


def test_equal_means_have_no_better_and_worse() -> None:
    analysis = state("equal")
    table = pairs(from_results(analysis, Path("x.csv")))
    titles = [column.title for column in table.columns]
    assert not any("better" in title or "worse" in title for title in titles)
    assert not any("better" in str(cell) for own in table.rows for cell in own)
    assert "is that of fire and rope" in said("equal") and "Use" not in said("equal")


LEVELS = {
    "won": "success", "rising": "success", "lost": "success", "few": "info", "late": "success", "diverged": "warning",
    "all rising": "warning", "nothing": "warning", "at chance": "warning", "equal": "info",
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_only_a_claim_is_a_success(name: str) -> None:
    seeds = 3 if name == "few" else 6
    analysis = state(name, seeds)
    (task,) = analysis.tasks
    assert task.verdict.level == LEVELS[name] and task.verdict.claims is (LEVELS[name] == "success")
    comparison = from_results(analysis, Path("x.csv"))
    page = render(comparison, "html")
    assert f'class="verdict level-{LEVELS[name]}"' in page
    for encoding in task.encodings:
        assert (task.learned[encoding][0] > 0) is any(at is not None for at in task.steps[encoding].seeds)
        assert task.learned[encoding] == (sum(e.learned for e in task.steps[encoding].ends), seeds)


def _page(name: str) -> None:
    from pathlib import Path

    from tests.report.states import state

    from ordinate.app import comparison_view
    from ordinate.results.comparison import from_results

    comparison_view.show(from_results(state(name), Path("x.csv")), "x")


@pytest.mark.parametrize("name", ["won", "diverged", "equal"])
def test_the_app_has_a_green_box_for_a_claim_only(name: str) -> None:
    page = AppTest.from_function(_page, kwargs={"name": name}, default_timeout=120).run()
    assert not page.exception
    boxes = {"success": page.success, "info": page.info, "warning": page.warning}
    first = sentences(analysis := state(name), analysis.tasks[0])[0]
    shown = {kind for kind, own in boxes.items() if any(first[:20] in box.value.replace("\\", "") for box in own)}
    assert shown == {LEVELS[name]}


@pytest.mark.parametrize(
    ("word", "reached", "curve", "found"),
    [
        (Word.SOLVES, None, (), Word.SOLVES), (Word.SOLVES, 40, (1.0, 0.5), Word.SOLVES),
        (Word.DID_NOT_FIT, 40, (0.5, 1.0), Word.LOST_AGAIN), (Word.DID_NOT_FIT, None, (0.5, 0.8), Word.STILL_RISING),
        (Word.DID_NOT_FIT, None, (0.8, 0.805), Word.DID_NOT_FIT), (Word.DID_NOT_FIT, None, (0.8,), Word.DID_NOT_FIT),
        (Word.AT_CHANCE, None, (0.5, 0.6), Word.AT_CHANCE), (Word.DIVERGED, 40, (0.5, 0.6), Word.DIVERGED),
    ],
)  # fmt: skip
def test_how_training_ended(word: Word, reached: int | None, curve: tuple[float, ...], found: Word) -> None:
    """Noise at the floor is no rise, and the final score alone decides what is learned."""
    assert ended(word, reached, curve) is found


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (TrainingEnd(1, Word.SOLVES, 1.0, 600, 300), "learned at step 300"),
        (TrainingEnd(1, Word.SOLVES, 0.96, 1600), "learned by its last step, 1,600"),
        (TrainingEnd(1, Word.STILL_RISING, 0.88, BUDGET), "not within 1,500 steps, still rising (0.88)"),
        (TrainingEnd(1, Word.LOST_AGAIN, 0.9496, 2700, 1350), "reached the bar at step 1,350, ended below it (0.9496)"),
        (TrainingEnd(1, Word.DID_NOT_FIT, 0.6, 40), "not learned in 40 steps (0.60)"),
        (TrainingEnd(1, Word.AT_CHANCE, 0.06, 40), "at chance after 40 steps (0.06)"),
        (TrainingEnd(1, Word.DIVERGED, None, 3), "diverged at step 3"),
    ],
)  # fmt: skip
def test_one_run_in_words(end: TrainingEnd, text: str) -> None:
    assert training_words(end, 0.95) == text


def test_equal_scores_of_a_positive_control_are_no_alarm() -> None:
    items = [
        Observation("majority", name, seed, split, length, 0.9, 0.5, 0.5, 1000)
        for name in ("rope", "fire") for seed in range(1, 7) for split, length in (("id", 32), ("ood", 64))
    ]  # fmt: skip

    def ceilings(control: bool) -> int:
        analysis = analyze(items, study={"majority": StudyFacts(positive_control=control)})
        return sum(isinstance(alarm, Ceiling) for alarm in analysis.tasks[0].alarms)

    assert ceilings(False) and not ceilings(True)
    assert tasks.create("binary_majority").positive_control and not tasks.create("k_back").positive_control


def test_rows_stand_in_the_order_of_their_scores() -> None:
    """A score that is not ranked stands where its number belongs, not below all that are."""
    (task,) = state("rising").tasks
    assert by_score(task) == ["rope", "fire"]
    items = [
        Observation("recall", name, seed, split, length, score, 0.06, 0.06, 1000)
        for name, scores in {"alibi": (1.0, 0.247), "learned": (0.9, 0.638)}.items() for seed in range(1, 4)
        for (split, length), score in zip((("id", 32), ("ood", 64)), scores, strict=True)
    ]  # fmt: skip
    assert by_score(analyze(items).tasks[0]) == ["learned", "alibi"]


def test_the_printed_command_is_one_that_a_shell_takes() -> None:
    assert shlex.split(alarms("all rising")["budget"].partition("  ")[2])[:2] == ["ordinate", "compare"]
