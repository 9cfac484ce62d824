"""Verdicts in sentences: what to use, how far each encoding holds, what was tested, what so few seeds cannot show."""

from collections.abc import Sequence

from ordinate.statistics.alarms import Unfinished
from ordinate.statistics.evidence import FEW, at_floor, evidence
from ordinate.statistics.learning_sentences import holds, kept, not_learned
from ordinate.statistics.looks import MARGIN
from ordinate.statistics.phrases import (
    MOST_PARTS,
    at_headline,
    called,
    capital,
    counted,
    covered,
    listed,
    more,
    named,
    range_title,
    range_words,
    seeds,
)
from ordinate.statistics.types import Analysis, Basis, Cell, Finding, Range, TaskAnalysis
from ordinate.statistics.verdict import matters
from ordinate.statistics.words import Word


def verdicts(analysis: Analysis) -> list[str]:
    """All sentences of all tasks, each with its task."""
    return [f"{task.task}: {line}" for task in analysis.tasks for line in sentences(analysis, task)]


def sentences(analysis: Analysis, task: TaskAnalysis) -> tuple[str, ...]:
    """A few on one task; the first one is the bottom line."""
    first, *rest = [*_bottom_line(analysis, task), *_missing(task)]
    if task.verdict.finding is Finding.ALONE:
        rest.append("One encoding alone is no comparison.")
    else:
        rest += evidence(analysis, task)
    unfinished = next((alarm for alarm in task.alarms if isinstance(alarm, Unfinished)), None)
    so_far = f"So far ({unfinished.done} of {counted(unfinished.runs, 'run')}): " if unfinished else ""
    return (so_far + first, *rest)


def _bottom_line(analysis: Analysis, task: TaskAnalysis) -> list[str]:
    """Which to use and where it loses, or what was seen; how far each holds; what those keep that did not learn it."""
    finding = task.verdict.finding
    if finding is Finding.NOT_LEARNED:
        return [not_learned(task), *kept(task)]
    if finding is Finding.ALONE:
        first = holds(task) or [f"The mean of {named(task.encodings[:1])} is {_number(task.shown.cells[0])}."]
        return [*first, *kept(task)]
    if finding is Finding.USE:
        names = listed([called(name) for name in task.verdict.use], "or")
        best_first = " (best mean first)" if len(task.verdict.use) > 1 else ""
        return [
            f"Use {names}{best_first}: {_above(task)}",
            *_loses(task),
            *_slightly_above(task),
            *holds(task),
            *kept(task),
        ]
    return [*holds(task), *_open(task, analysis.seeds_needed), *kept(task)]


def _loses(task: TaskAnalysis) -> list[str]:
    """Where an encoding that is not recommended has a mean that is better by more than the smallest effect."""
    sign, lost = -1.0 if task.direction == "lower" else 1.0, []
    for r in task.ranges:
        shown = {cell.encoding: cell.interval.mean if cell.interval else cell.unranked for cell in r.cells}
        means = {name: sign * mean for name, mean in shown.items() if mean is not None}
        own = [means[name] for name in task.verdict.use if name in means]
        others = {name: mean for name, mean in means.items() if name not in task.verdict.use}
        if own and others and max(others.values()) > max(own) + MARGIN:
            best = max(others, key=lambda name: others[name])
            unranked = ", not ranked," if r.cell(best).interval is None else ""
            against = f"{called(best)} {abs(others[best]):.3f}{unranked} against {abs(max(own)):.3f}"
            lost.append(f"{range_title(task, r)} ({against})")
    better = "higher" if task.direction == "higher" else "lower"
    return [f"Others are {better} at {'; '.join(lost[-MOST_PARTS:])}."] if lost else []


def _slightly_above(task: TaskAnalysis) -> list[str]:
    """Claims against a recommended encoding that are too small to count."""
    bounded, use = task.bar is not None, task.verdict.use
    pairs = [pair for pair in task.pairs if pair.claim and pair.worse in use and not matters(pair, bounded=bounded)]
    endpoint = {Basis.SCORES: at_headline(task), Basis.LEARNING: "in the share of seeds that learned the task"}
    parts = [
        f"{called(pair.better)} is higher than {called(pair.worse)} {endpoint.get(pair.basis) or covered(task)} by "
        f"{abs(pair.difference.mean):.3f}"
        for pair in pairs
    ]
    return [f"{'; '.join(parts[:MOST_PARTS])}, below the smallest effect that counts ({MARGIN:g})."] if parts else []


def _missing(task: TaskAnalysis) -> list[str]:
    """Rows without which seeds are not compared, and what to add."""
    lines = []
    if task.unknown:
        whose = listed([f"{called(name)} ({seeds(n)})" for name, n in task.unknown.items()])
        lines.append(
            f"No score in distribution at length {task.trained}: {whose}. Whether these seeds learned the task is "
            f"unknown, so they are not compared: add rows with split id and length {task.trained}."
        )
    longer = [r for r in task.ranges if r.split == "ood"]
    untested = {r.key: own for r in (longer if len(longer) > 1 else [task.shown]) if (own := _untested(task, r))}
    if untested:
        parts = []
        for r in task.ranges:
            if r.key in untested:
                whose = listed([f"{called(name)} ({seeds(n)})" for name, n in untested[r.key].items()])
                parts.append(f"{whose} at {range_title(task, r)}")
        where = [at_headline(task)] if task.shown.key in untested else []
        where += [covered(task)] if len(longer) > 1 else []
        lines.append(
            f"Not tested: {'; '.join([*parts[:MOST_PARTS], *more(parts, 'length')])}. So these seeds are not compared "
            f"{' nor '.join(where)}: add these rows, with an empty score where an encoding cannot go."
        )
    return lines


def _untested(task: TaskAnalysis, r: Range) -> dict[str, int]:
    """Encodings with the number of their seeds that would count on a range but have no row there."""
    missing = {name: len(_may_count(task, name).difference(r.cell(name).seeds)) for name in task.encodings}
    return {name: n for name, n in missing.items() if n}


def _may_count(task: TaskAnalysis, encoding: str) -> set[int]:
    """The seeds that learned the task; all of them without scores in distribution, and for a loss."""
    if task.inside is None or task.bar is None:
        return {seed for r in task.ranges for seed in r.cell(encoding).seeds}
    cell = task.inside.cell(encoding)
    return {seed for seed, score in zip(cell.seeds, cell.scores, strict=True) if score and score >= task.bar}


def _above(task: TaskAnalysis) -> str:
    """What sets those to be used above each of the others: an endpoint, or that the other cannot go there."""
    use, bases = task.verdict.use, dict[tuple[str, str], set[Basis]]()
    for pair in task.pairs:
        if matters(pair, bounded=task.bar is not None):
            bases.setdefault((pair.better, pair.worse), set()).add(pair.basis)
    groups: dict[tuple[Basis, ...], list[str]] = {}
    for other in (name for name in task.encodings if name not in use):
        own = [bases.get((name, other), set()) for name in use]
        shared = set.intersection(*own) or set.union(*own)
        groups.setdefault(tuple(basis for basis in Basis if basis in shared) if all(own) else (), []).append(other)
    scores, areas = (listed([_mean(means.get(name)) for name in use]) for means in (task.means, task.areas))
    endpoint = {
        Basis.SCORES: f"{at_headline(task)} (mean {scores})",
        Basis.AREA: f"{covered(task) if task.areas else ''} (mean {areas})",
        Basis.LEARNING: f"by the number of seeds that learned the task{_rising(task, use)}",
    }
    above = "above" if task.direction == "higher" else "a lower loss than"
    parts = [f"{above} {named(who)} {' and '.join(endpoint[b] for b in own)}" for own, who in groups.items() if own]
    shown = {basis for own in groups for basis in own if basis is not Basis.LEARNING}
    cannot = [name for name in groups.get((), []) if not task.learned or task.learned[name][0]]
    end = [f"{named(cannot)} cannot go to {range_words(task)}"] if cannot else []
    return "; ".join([", ".join(parts) + at_floor(task, use, shown), *end]) + "."


def _rising(task: TaskAnalysis, use: Sequence[str]) -> str:
    """That learning is judged within a budget, where others were still rising at its end."""
    late = [name for name, steps in task.steps.items() if steps.rising and name not in use]
    return f" within the budget (still rising at its end: {named(late)})" if late else ""


def _open(task: TaskAnalysis, needed: int) -> list[str]:
    """Where no encoding is above all others: what was seen, and what was not shown."""
    r = task.shown
    means = [cell for cell in r.cells if cell.interval is not None]
    if task.verdict.best:
        return [_split(task)]
    if not means:
        return [] if task.unknown else [f"Not one encoding that learned it has a score at {range_words(task)}."]
    refuse = [cell.encoding for cell in r.cells if cell.word is Word.OUT_OF_RANGE]
    best = means[0]
    if len(means) == 1 and len(refuse) == len(r.cells) - 1:
        return [
            f"Only {named([best.encoding])} can go to {range_words(task)} ({_number(best)}); {named(refuse)} cannot, "
            "so nothing is tested there."
        ]
    if task.reach and not any({Word.SOLVES, Word.PARTIAL} & cell.words.keys() for cell in r.cells):
        return [f"{capital(at_headline(task))} every encoding that has a score is at the floor ({r.floor:.3f})."]
    short = [cell.encoding for cell in r.cells if 0 < len(cell.seeds) < needed <= len(task.seeds)]
    tied = listed([_with_few_seeds(cell) for cell in means if _number(cell) == _number(best)])
    small = any(pair.claim and pair.basis is not Basis.LEARNING for pair in task.pairs)
    by = f" by {MARGIN:g}" if small and task.bar is not None else ""
    what = f"Not one encoding is shown to be above all others{by} {at_headline(task)}"
    if short:
        few = f"{'has' if len(short) == 1 else 'have'} fewer than the {seeds(needed)} that it takes"
        what = f"No recommendation {at_headline(task)}, where {named(short)} {few}"
    return [f"{what}; the best mean there, {_number(best)}, is that of {tied}."]


def _with_few_seeds(cell: Cell) -> str:
    """An encoding, and how many of its seeds its mean is of where most do not count."""
    n = cell.interval.n if cell.interval else 0
    return called(cell.encoding) + f" (of {n} of {seeds(len(cell.seeds))})" * (2 * n < len(cell.seeds))


def _split(task: TaskAnalysis) -> str:
    """Where the two endpoints recommend different encodings, or one of them recommends none."""
    where = {Basis.SCORES: (at_headline(task), task.means), Basis.AREA: (covered(task), task.areas)}
    parts = []
    for basis, names in task.verdict.best.items():
        words, means = where[basis]
        parts.append(f"{words} {named(names)} ({listed([_mean(means.get(name)) for name in names])})")
    reverse = [pair for pair in task.pairs if matters(pair, bounded=task.bar is not None) and pair.basis in where]
    best = {name for names in task.verdict.best.values() for name in names}
    against = [
        f"{called(pair.better)} is above {called(pair.worse)} {where[pair.basis][0]} "
        f"({_mean(pair.means[0])} against {_mean(pair.means[1])})"
        for pair in reverse
        if pair.worse in best and pair.basis not in [b for b, names in task.verdict.best.items() if pair.worse in names]
    ]
    lost = f"; but {'; '.join(against[:FEW])}" if against and len(task.verdict.best) == 1 else ""
    return f"No single recommendation: best {', '.join(parts)}{lost}."


def _number(cell: Cell) -> str:
    return "no score" if cell.interval is None else f"{cell.interval.mean:.3f}"


def _mean(value: float | None) -> str:
    return "no score" if value is None else f"{value:.3f}"
