"""Phrases: names, counts, cells, reach, steps and outcomes as text. Sentences and alarms are made of them."""

import re
from collections.abc import Sequence

from ordinate.statistics.interval import Interval, rate_interval
from ordinate.statistics.learning import Steps, TrainingEnd
from ordinate.statistics.reach import Reach
from ordinate.statistics.types import Cell, Contrast, Outcome, Range, TaskAnalysis
from ordinate.statistics.words import NOT_FITTED, Word

USUAL_SEEDS = 6  # of a comparison; fewer make it preliminary
MOST_LISTED, FIRST = 40, 12  # names that a sentence lists; of more than that, so many
MOST_PARTS = 12  # of a sentence; all of them are in the tables

_PLURAL = {Word.SOLVES: "solve", Word.FITS: "fit"}
_OUTCOMES = {
    Outcome.FLOOR: "both at the floor",
    Outcome.FEW_SEEDS: "not enough seeds for a claim",
    Outcome.ALIKE: "no difference above 0.02",
    Outcome.OPEN: "not told apart",
    Outcome.SAME: "learned alike: nothing to test",
}


def called(encoding: str) -> str:
    """An encoding in a sentence, where `none` alone would be misread."""
    return "none (no encoding)" if encoding == "none" else encoding


def named(encodings: Sequence[str]) -> str:
    """Some encodings in a sentence."""
    return listed([called(name) for name in encodings])


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a, b and c`; of hundreds the first few, and how many more there are."""
    *most, end = names if len(names) <= MOST_LISTED else [*names[:FIRST], f"{len(names) - FIRST:,} more"]
    return f"{', '.join(most)} {last} {end}" if most else end


def more(things: Sequence[object], what: str) -> list[str]:
    """The end of a sentence that does not name all of so many."""
    left = len(things) - MOST_PARTS
    return [f"and {left:,} more {what}{'s' * (left > 1)}, all of them in the tables"] if left > 0 else []


def seeds(n: int) -> str:
    return counted(n, "seed")


def few_seeds_words(n: int) -> str:
    """Why a comparison of so few is preliminary."""
    return f"{seeds(n)} where {USUAL_SEEDS} are the rule"


def counted(n: int, thing: str) -> str:
    """`1 pair`, `2 pairs`."""
    return f"{n} {thing}{'s' * (n != 1)}"


def span(values: Sequence[int]) -> str:
    """`54`, `54 to 108`, of numbers in their order."""
    return f"{values[0]:,}" if values[0] == values[-1] else f"{values[0]:,} to {values[-1]:,}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def cell_words(cell: Cell) -> str:
    """The word that all seeds share; otherwise how many have which. Empty for a task scored by loss."""
    if not cell.seeds:
        return "no result"
    if not cell.words:
        return ""
    if cell.word is None:
        counts = sorted(cell.words.items(), key=lambda item: -item[1])
        return "mixed: " + ", ".join(f"{n} {_PLURAL.get(word, word) if n > 1 else word}" for word, n in counts)
    if cell.word in NOT_FITTED and cell.inside is not None and cell.interval is None:
        return f"{cell.word} ({below_bar(cell.inside, cell.bar)})"
    return cell.word.value


def below_bar(score: float, bar: float | None) -> str:
    """With as many digits as it takes to see that it is below the bar: 0.949 and not 0.95."""
    digits = next((n for n in range(2, 16) if bar is None or round(score, n) < bar), 16)
    return f"{score:.{digits}f}"


def learned_words(learned: tuple[int, int], between: str = " of ") -> str:
    """`4 of 6 (22-96 %)`, with the exact interval of the rate; `-` where no seed has a score in distribution."""
    good, of = learned
    if not of:
        return "-"
    low, high = rate_interval(good, of)
    return f"{good}{between}{of} ({100 * low:.0f}-{100 * high:.0f} %)"


def mean_and_interval(mean: Interval | None) -> str:
    """`0.998 [0.995, 1.000]`."""
    if mean is None:
        return ""
    if mean.low is None or mean.high is None:
        return f"{mean.mean:.3f} (1 seed)"
    return f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def unranked_words(cell: Cell) -> str:
    """`0.743, not ranked`: the mean of seeds that did not learn the task; empty without any."""
    return "" if cell.unranked is None else f"{cell.unranked:.3f}, not ranked"


def times(multiple: float) -> str:
    """`1.25x`."""
    return f"{multiple:.3g}x"


def range_title(task: TaskAnalysis, r: Range) -> str:
    """A range with its multiple of the trained length: `OOD length 64 (2x)`."""
    return r.name + (f" ({times(r.length / task.trained)})" if task.trained and r.split == "ood" else "")


def range_words(task: TaskAnalysis) -> str:
    """The headline range."""
    return range_title(task, task.shown)


def at_headline(task: TaskAnalysis) -> str:
    """`at OOD length 64 (2x)`."""
    return f"at {range_words(task)}"


def endpoints_words(task: TaskAnalysis) -> str:
    """What pairs are tested by: `at OOD length 64 (2x) and over 1x to 4x`."""
    return at_headline(task) + (f" and {covered(task)}" if task.areas else "")


def covered(task: TaskAnalysis) -> str:
    """The lengths of the area: `over 1x to 4x`."""
    lengths = [r.length for r in task.ranges if r.split == "ood"]
    if task.trained is None:
        return f"over lengths {min(lengths)} to {max(lengths)}"
    return f"over 1x to {times(max(lengths) / task.trained)}"


def reach_words(reach: Reach | None) -> str:
    """`2.3x`, `2.3x (1.9x to 3x)`, `4x+` at the longest tested length, `-` where no seed learned the task.

    Where most seeds did not: `1x (of 1 of 3 seeds)`.
    """
    if reach is None or reach.median is None:
        return "-"
    parts = reach_span(reach)
    parts += [] if reach.by_most else [f"of {len(reach.learned)} of {seeds(len(reach.seeds))}"]
    return _multiple(reach, reach.median) + (f" ({'; '.join(parts)})" if parts else "")


def _multiple(reach: Reach, value: float) -> str:
    return times(value) + "+" * reach.at_least(value)


def reach_multiple(reach: Reach, value: float) -> str:
    """`at least 4x` where that is the longest tested length."""
    return f"{'at least ' * reach.at_least(value)}{times(value)}"


def reach_span(reach: Reach) -> list[str]:
    """The interval of the median, and how many seeds end where nothing was tested."""
    low, high = reach.interval or (0.0, 0.0)
    span = [] if times(low) == times(high) else [f"{times(low)} to {_multiple(reach, high)}"]
    return [*span, *untested(reach)]


def untested(reach: Reach) -> list[str]:
    """How many seeds end where nothing was tested: what they could do there is unknown."""
    if not reach.untested:
        return []
    whose = "" if reach.untested == len(reach.learned) else f"{reach.untested} of {len(reach.learned)} "
    return [f"{whose}not tested {'at the next length' if reach.longest > 1 else 'beyond'}"]


def training_words(end: TrainingEnd, bar: float | None) -> str:
    """How the training of one seed ended: `not within 1,500 steps, still rising (0.88)`."""
    final = "" if end.score is None else f" ({below_bar(end.score, bar)})"
    match end.word:
        case Word.SOLVES:
            return f"learned at step {end.reached:,}" if end.reached else f"learned by its last step, {end.steps:,}"
        case Word.STILL_RISING:
            return f"not within {end.steps:,} steps, still rising{final}"
        case Word.LOST_AGAIN:
            return f"reached the bar at step {end.reached:,}, ended below it{final}"
        case Word.DIVERGED:
            return f"diverged at step {end.steps:,}"
        case Word.AT_CHANCE:
            return f"at chance after {end.steps:,} steps{final}"
        case _:
            return f"not learned in {end.steps:,} steps{final}"


def steps_words(steps: Steps | None, more_than: str = "more than ") -> str:
    """`300`, `300 (200 to 500)`, `more than 1000`."""
    if steps is None or not steps.seeds:
        return "-"
    over = f"{more_than}{steps.budget}"
    low, high = steps.interval
    if low is None:
        return over
    middle = over if steps.median is None else str(steps.median)
    return middle if low == high else f"{middle} ({low} to {over if high is None else high})"


def outcome_words(pair: Contrast) -> str:
    return f"{called(pair.better)} is better" if pair.claim else _OUTCOMES[pair.outcome]


def p_words(value: float) -> str:
    return f"p {value:.2g}" if value >= 1e-6 else "p < 1e-6"


def css_class(cell: Cell) -> str:
    """For a page: the shared word, or `mixed`."""
    return re.sub(r"\W+", "-", "mixed" if len(cell.words) > 1 else cell.word or "")
