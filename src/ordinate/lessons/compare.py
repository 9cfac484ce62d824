"""How to read a comparison: each rule of fairness as a demonstration of the mistake that it prevents."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache

from ordinate import tasks
from ordinate.core.seeds import generator
from ordinate.report.overview import shipped_overview
from ordinate.results.comparison import Comparison
from ordinate.statistics.holm import holm
from ordinate.statistics.interval import unseen
from ordinate.statistics.tests import welch
from ordinate.statistics.types import TaskAnalysis
from ordinate.teaching import evidence
from ordinate.teaching.charts import curves, table
from ordinate.teaching.lesson import (
    Evidence,
    Exercise,
    Explore,
    FurtherReading,
    Lesson,
    Picker,
    Predict,
    Prose,
    Revealed,
    Shown,
    Slider,
)
from ordinate.training.baselines import bag_of_tokens, position_only, score

STORED = {
    "first_last": ("s4-long-range", "fair"), "k_back": ("s4-k-back", "fair"), "shift_pattern": ("s4-shift", "fair"),
}  # fmt: skip
STUDIES = 100  # that are simulated


def stored(task: str) -> tuple[Comparison, TaskAnalysis]:
    """A comparison that comes with the program."""
    found = evidence.finished(*STORED[task])
    assert found is not None
    return found, found.analysis.tasks[0]


def show_rates(task: str) -> Shown:
    """Validation scores of the learning rates that were tried on the pilot seed, for every encoding."""
    comparison, _ = stored(task)
    tried = {sweep.encoding: {point.rate: point.score or 0.0 for point in sweep.points} for sweep in comparison.sweeps}
    common = sorted(set.intersection(*(set(scores) for scores in tried.values())))
    rows = [(name, *(scores[rate] for rate in common)) for name, scores in sorted(tried.items())]
    columns = {"encoding": ""} | {f"rate {rate:g}": ".3f" for rate in common}
    gaps = {rate: (min(tried, key=lambda name: tried[name][rate]), rate) for rate in common}
    told = [f"at {rate:g} by {_gap(tried, rate):.3f} (`{last}`)" for last, rate in gaps.values()]
    words = (
        f"**One learning rate for all.** The last is behind the best {', '.join(told)}. So the rate decides how much "
        f"of "
        "a difference a table shows, and who is last. The rule: the same search for every encoding, on a seed that is "
        "never reported, by scores in distribution."
    )
    return Shown(words, tables=(table(f"{task}: validation accuracy by learning rate, pilot seed", columns, rows),))


def _gap(tried: dict[str, dict[float, float]], rate: float) -> float:
    scores = [own[rate] for own in tried.values()]
    return max(scores) - min(scores)


def show_seed(task: str, seed: int) -> Shown:
    _, analysis = stored(task)
    at = analysis.shown
    scores = {cell.encoding: dict(zip(cell.seeds, cell.scores, strict=True)) for cell in at.cells}
    known = {name: own for name, own in scores.items() if all(value is not None for value in own.values())}
    winners = Counter(max(known, key=lambda name: known[name][one] or 0.0) for one in analysis.seeds)
    own_seed = analysis.seeds[seed - 1]
    rows = sorted(((name, own[own_seed]) for name, own in known.items()), key=lambda row: -(row[1] or 0.0))
    words = (
        f"**One seed.** With seed {own_seed} alone the winner would be `{rows[0][0]}`. Over all {len(analysis.seeds)} "
        "seeds the winners are "
        + ", ".join(f"`{name}` ({count})" for name, count in winners.most_common())
        + ". The rule: several seeds, the same for all encodings, all shown."
    )
    columns = {"encoding": "", f"score at {at.name}": ".3f"}
    return Shown(words, tables=(table(f"{task}, seed {own_seed}", columns, rows),))


def answer_unfit() -> Revealed:
    _, analysis = stored("k_back")
    at = analysis.shown
    scores = {cell.encoding: [score for score in cell.scores if score is not None] for cell in at.cells}
    raw = {name: sum(own) / len(own) for name, own in scores.items() if own}
    unfit = [name for name, (good, _) in analysis.learned.items() if good == 0 and name in raw]
    beaten = [(a, b) for a in unfit for b in raw if b not in unfit and raw[a] > raw[b]]
    words = (
        f"By raw scores at {at.name}, "
        + ", ".join(f"`{a}` ({raw[a]:.2f}) is above `{b}` ({raw[b]:.2f})" for a, b in beaten[:2])
        + ", although no seed of the former learned the task even at the trained lengths. A model that is as bad "
        "everywhere *keeps* its score. The rule: only seeds that learned the task are ranked beyond it; the others "
        "are shown, with the words *did not fit*."
    )
    return Revealed(0 if beaten else 1, Shown(words, tables=(evidence.score_table(analysis),)))


def show_chance(encodings: int, sequences: int) -> Shown:
    source = random.Random(0)
    scores = [sum(source.random() < 0.1 for _ in range(sequences)) / sequences for _ in range(encodings)]
    ranked = sorted(scores, reverse=True)
    band = 1.96 * (0.1 * 0.9 / sequences) ** 0.5
    words = (
        f"**Ranking noise.** {encodings} models that guess among ten answers, {sequences} questions each: the best has "
        f"{ranked[0]:.3f}, the last {ranked[-1]:.3f}. Somebody could print this as a leaderboard. The band of chance "
        f"reaches from {0.1 - band:.3f} to {0.1 + band:.3f}. The rule: nothing inside it is a win."
    )
    rows = [(f"model {index + 1}", score) for index, score in enumerate(ranked)]
    return Shown(words, tables=(table("Pure chance, ranked", {"": "", "accuracy": ".3f"}, rows),))


@cache
def orderless(text: str, length: int) -> tuple[float, float]:
    """What a reader of positions alone and a reader of counts of tokens score on new problems."""
    _, task = tasks.parse(text)
    fit, test = (task.sample(3000, length, generator(0, "lesson", part)) for part in ("fit", "test"))
    return tuple(score(task, reader(task, fit)(test), test) for reader in (position_only, bag_of_tokens))  # type: ignore[return-value]


def show_baseline(length: int) -> Shown:
    """What readers without any order score on labels that leak, and on balanced ones."""
    names = {"as published": "value_at_position(balanced=false)", "balanced": "value_at_position"}
    found = {name: orderless(text, length) for name, text in names.items()}
    words = (
        "**A leak in the labels.** In the published form of `value_at_position` a reader that only *counts* tokens, "
        f"without any order, scores **{found['as published'][1]:.2f}** at length {length}; with balanced counts "
        f"{found['balanced'][1]:.2f}. A model without positions gets these points for nothing. The rule: such "
        "baselines are drawn under every score."
    )
    columns = {"task": "", "position alone": ".2f", "counts of tokens": ".2f"}
    rows = [(name, *scores) for name, scores in found.items()]
    return Shown(words, tables=(table("What needs no model of order", columns, rows),))


@cache
def false_claims(encodings: int, seeds: int) -> tuple[float, float]:
    """The share of simulated studies of equal encodings that claim some difference, without and with Holm."""
    source, plain, corrected = random.Random(1), 0, 0
    for _ in range(STUDIES):
        scores = [[source.gauss(0.8, 0.05) for _ in range(seeds)] for _ in range(encodings)]
        p = [welch(scores[a], scores[b]) for a in range(encodings) for b in range(a)]
        plain += min(p) < 0.05
        corrected += min(holm(p)) < 0.05
    return plain / STUDIES, corrected / STUDIES


def show_pairs(encodings: int, seeds: int) -> Shown:
    plain, corrected = false_claims(encodings, seeds)
    pairs = encodings * (encodings - 1) // 2
    words = (
        f"**Many tests.** {STUDIES} studies of {encodings} encodings that are all alike, {seeds} seeds: testing all "
        f"{pairs} pairs at 0.05 claims a difference in **{100 * plain:.0f} %** of the studies; with Holm's "
        f"correction in {100 * corrected:.0f} %. The rule: all pairs of a comparison share one risk of 5 %."
    )
    return Shown(words)


def show_rare(rate: float, seeds: int) -> Shown:
    counts = range(1, 31)
    chance = [(1 - rate) ** n for n in counts]
    drawn = curves("All seeds agree", "seeds", "probability", {"no failure seen": chance}, x=counts, y_range=(0, 1))
    words = (
        f"**What few seeds cannot see.** An encoding that fails in {100 * rate:.0f} % of its seeds shows {seeds} good "
        f"ones with probability **{(1 - rate) ** seeds:.2f}**. Seeds that all agree leave failure rates up to "
        f"{100 * unseen(seeds):.0f} % unseen. The rule: that sentence stands beside every claim."
    )
    return Shown(words, (drawn,))


def answer_leaderboard() -> Revealed:
    rows = [(row.family, row.task, row.verdict) for row in shipped_overview()]
    verdicts = {row[2] for row in rows}
    words = (
        f"{len(rows)} tasks, {len(verdicts)} different verdicts. An average over tasks would say which tasks somebody "
        "happened to choose. The rule: ranks by family of tasks, never one number."
    )
    columns = {"family": "", "task": "", "verdict": ""}
    return Revealed(1 if len(verdicts) > 1 else 0, Shown(words, tables=(table("Shipped comparisons", columns, rows),)))


def read_whole() -> Shown:
    return evidence.scores("s4-k-back", "fair")


def check_holm(correct: Callable[[list[float]], list[float]]) -> str:
    given = correct([0.01, 0.04, 0.03])
    if not isinstance(given, list) or len(given) != 3:
        return "holm(p) must return a list with one corrected value for each p, in the order given."
    if any(abs(a - b) < 1e-9 for a, b in zip(given[:1], [0.01], strict=True)):
        return "The smallest of three p values is multiplied by 3; you left it as it is."
    if abs(given[1] - 0.12) < 1e-9:
        return "That is Bonferroni: every p times 3. Holm multiplies the smallest by 3, the next by 2, the last by 1."
    if abs(given[1] - 0.04) < 1e-9:
        return (
            "0.04 came out below the corrected 0.06 of the smaller 0.03: corrected values never fall along the order, "
            "so carry the largest so far along."
        )
    for p in ([0.01, 0.04, 0.03], [0.2, 0.001, 0.5, 0.013], [0.9, 0.8]):
        right, own = holm(p), correct(list(p))
        if any(abs(a - b) > 1e-9 for a, b in zip(own, right, strict=True)):
            return f"For {p} Holm gives {[round(value, 6) for value in right]}, got {own}."
    return ""


def check_average(average: Callable[[dict[int, float], int], float]) -> str:
    scores = {16: 1.0, 32: 1.0, 40: 0.9, 64: 0.5, 128: 0.1}
    given = average(scores, 32)
    if abs(given - (0.5 + 0.1) / 2) < 1e-9:
        return (
            f"The score at 40, the first length beyond 32, is missing from the mean ({given:.2f} in place of 0.50): "
            "lists are cut by number here. Take lengths by what they are: all that are above the trained one."
        )
    if abs(given - 0.5) > 1e-9:
        return f"The mean of 0.9, 0.5 and 0.1 is 0.50, got {given:.2f}."
    if abs(average({64: 0.4, 32: 1.0, 128: 0.2}, 32) - 0.3) > 1e-9:
        return "With lengths in another order, or with other lengths, the mean is wrong: do not count entries."
    return ""


HOLM = """def holm(p):
    order = sorted(range(len(p)), key=lambda index: p[index])
    corrected, largest = [0.0] * len(p), 0.0
    for rank, index in enumerate(order):
        {line}
        corrected[index] = largest
    return corrected
"""
AVERAGE = '''def ood_average(scores, trained):
    """scores: {{length: score}}; the mean over all lengths beyond the trained one."""
    {line}
    return sum(values) / len(values)
'''

LESSON = Lesson(
    number=10,
    title="How to read a comparison",
    question="Two papers, one question, opposite tables: what went wrong?",
    goals=(
        "name the mistakes that turn a table round, and look for them in a paper",
        "read what a comparison of Ordinate says, and what it does not say",
        "correct for many tests, and average over lengths without losing one",
    ),
    blocks=(
        Prose(
            "Public comparisons of positional encodings contradict each other. Behind that are a dozen known mistakes. "
            "Here you make each of them, mostly on stored runs, and see the rule that prevents it."
        ),
        Explore(
            "rates",
            "Mistake: one learning rate for all encodings.",
            (Picker("task", "Task", tuple(STORED), "first_last"),),
            show_rates,
        ),
        Explore(
            "seed",
            "Mistake: one seed.",
            (Picker("task", "Task", tuple(STORED), "k_back"), Slider("seed", "Seed", 1, 6, 1)),
            show_seed,
        ),
        Predict(
            "unfit",
            "Mistake: models that never learned the task are ranked on longer sequences. On `k_back` at twice the "
            "length, is some encoding that no seed learned with above one that every seed learned with?",
            ("yes", "no"),
            answer_unfit,
        ),
        Explore(
            "chance",
            "Mistake: differences at chance are ranked.",
            (Slider("encodings", "Models", 2, 12, 6), Slider("sequences", "Questions", 100, 2000, 500, 100)),
            show_chance,
        ),
        Explore(
            "baseline",
            "Mistake: a wrong chance line, and labels that leak.",
            (Slider("length", "Length", 24, 64, 32, 8),),
            show_baseline,
        ),
        Explore(
            "pairs",
            "Mistake: many pairs, each tested alone.",
            (Slider("encodings", "Encodings", 2, 7, 6), Slider("seeds", "Seeds", 5, 10, 6)),
            show_pairs,
        ),
        Explore(
            "rare",
            "Mistake: agreement of a few seeds taken for certainty.",
            (Slider("rate", "Rate of failure", 0.05, 0.4, 0.1, 0.05), Slider("seeds", "Seeds", 3, 20, 6)),
            show_rare,
        ),
        Predict(
            "leaderboard",
            "Mistake: one leaderboard. Over the shipped tasks, is one verdict enough?",
            ("yes, one encoding is best everywhere", "no, it depends on the task"),
            answer_leaderboard,
        ),
        Evidence(
            "whole", "Now read one whole: who learned it, who holds how far, what is not ranked, and why.", read_whole
        ),
        Prose(
            "More mistakes have their own lessons: encodings of another **size** than the tokens (lesson 2), tables "
            "tested on **untrained rows** (3), one **offset** for a whole batch (5), **depth** changed along with the "
            "encoding (8). The full list of rules with the evidence for each is in the documentation of comparisons."
        ),
        Exercise(
            "holm",
            "Write `holm(p)`: Holm's corrected p values in the order given. The smallest is multiplied by the number "
            "of "
            "tests, the next by one less, and so on; corrected values never fall along that order, and none exceeds 1.",
            "holm",
            "def holm(p):\n    ...\n",
            check_holm,
            solution=HOLM.format(line="largest = max(largest, min(1.0, (len(p) - rank) * p[index]))"),
            wrong=HOLM.format(line="largest = min(1.0, len(p) * p[index])"),
            hint="Sort the indices by p.",
        ),
        Exercise(
            "average",
            "**Find the bug.** A published score was the mean over all lengths beyond the trained one.",
            "ood_average",
            AVERAGE.format(line="values = [score for _, score in sorted(scores.items())][3:]"),
            check_average,
            solution=AVERAGE.format(line="values = [score for length, score in scores.items() if length > trained]"),
            kind="debug",
            hint="Which length has the number 3?",
        ),
    ),
    reading=(
        FurtherReading("Agarwal et al. 2021", "2108.13264", "how few seeds mislead, and intervals that help"),
        FurtherReading("Melis et al. 2017", "1707.05589", "tuned alike, the order of language models changed"),
        FurtherReading("Zhou et al. 2024", "2402.09371", "the same setup, from no to full generalization by the seed"),
    ),
)
