"""Verdicts in sentences: what to use, how far each encoding holds, what was tested, what so few seeds cannot show."""

from collections.abc import Iterable, Sequence

from ordinate.statistics.alarms import Unfinished
from ordinate.statistics.error_rates import false_claims
from ordinate.statistics.gap import share_kept
from ordinate.statistics.interval import rate_interval
from ordinate.statistics.looks import MARGIN
from ordinate.statistics.phrases import (
    at_headline,
    called,
    capital,
    counted,
    covered,
    listed,
    named,
    p_words,
    range_title,
    range_words,
    reach_multiple,
    reach_span,
    seeds,
)
from ordinate.statistics.reach import Reach
from ordinate.statistics.types import Analysis, Basis, Cell, Contrast, Finding, Outcome, TaskAnalysis
from ordinate.statistics.verdict import matters
from ordinate.statistics.words import Word

FEW = 6  # pairs that a sentence lists
MOST_PARTS = 12  # of a sentence; all pairs are in their table


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
        return [_not_learned(task), *_kept(task)]
    if finding is Finding.ALONE:
        first = _holds(task) or [f"The mean of {named(task.encodings[:1])} is {_number(task.shown.cells[0])}."]
        return [*first, *_kept(task)]
    if finding is Finding.USE:
        names = listed([called(name) for name in task.verdict.use], "or")
        best_first = " (best mean first)" if len(task.verdict.use) > 1 else ""
        return [f"Use {names}{best_first}: {_above(task)}", *_loses(task), *_holds(task), *_kept(task)]
    return [*_holds(task), *_open(task, analysis.seeds_needed), *_kept(task)]


def _kept(task: TaskAnalysis) -> list[str]:
    """What encodings that no seed learned the task with keep of what they learned, at the longest tested length."""
    longer = [r for r in task.ranges if r.split == "ood"]
    tried = [name for name, (good, of) in task.learned.items() if of and not good]
    if not longer or task.inside is None:
        return []
    parts = []
    for name in tried:
        inside, kept = task.inside.cell(name).inside, share_kept(task, name, longer[-1])
        if inside is not None and kept is not None:
            parts.append(f"{called(name)} does not learn it ({inside:.2f}) but keeps {100 * kept:.0f} % of that")
    where = f"at {range_title(task, longer[-1])}"
    return [f"Not ranked: {'; '.join([*parts[:MOST_PARTS], *more(parts, 'encoding')])} {where}."] if parts else []


def _loses(task: TaskAnalysis) -> list[str]:
    """Where an encoding that is not recommended has a mean that is higher by more than the smallest effect."""
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
    return [f"Others are higher at {'; '.join(lost[-MOST_PARTS:])}."] if lost else []


def _holds(task: TaskAnalysis) -> list[str]:
    """How far each holds: `rope holds to at least 4x; alibi did not learn it.`"""
    groups: dict[tuple[float, str], list[str]] = {}
    for encoding, reach in task.reach.items():
        if reach.median is not None:
            groups.setdefault((reach.median, _spread(reach)), []).append(encoding)
    parts: list[str] = []
    by_median = sorted(groups.items(), key=lambda item: -item[0][0])
    for (median, spread), members in by_median[:MOST_PARTS]:
        who, one = named(members), len(members) == 1
        if not median:
            parts.append(f"{who} {'is' if one else 'are'} below the bar at the shortest tested length already{spread}")
            continue
        verb = (" holds" if one else " hold") if not parts else ""
        parts.append(f"{who}{verb} to {reach_multiple(task.reach[members[0]], median)}{spread}")
    parts += more(by_median, "such group")
    tried = [name for name, reach in task.reach.items() if not reach.learned and reach.seeds]
    untried = [name for name, reach in task.reach.items() if not reach.seeds and name not in task.unknown]
    parts += _not_learned_by(task, tried)
    has = "has" if len(untried) == 1 else "have"
    parts += [f"{named(untried)} {has} no result"] if untried else []
    return [f"{'; '.join(parts)}."] if parts else []


def _not_learned_by(task: TaskAnalysis, names: Sequence[str]) -> list[str]:
    """`alibi did not learn it (432 steps, 8 times the 54 of rope; still rising)`."""
    groups: dict[str, list[str]] = {}
    for name in names:
        steps = task.steps.get(name)
        ended = []
        if steps is not None and steps.fastest is not None:
            fastest, own = steps.fastest
            ended.append(f"{steps.budget} steps, {steps.budget / own:.0f} times the {own} of {called(fastest)}")
        ended += ["still rising"] if steps and steps.rising else []
        groups.setdefault(f" ({'; '.join(ended)})" if ended else "", []).append(name)
    return [f"{named(members)} did not learn it{why}" for why, members in groups.items()]


def _spread(reach: Reach) -> str:
    """What the median of an encoding hides."""
    parts = reach_span(reach)
    if len(reach.learned) < len(reach.seeds):
        parts.append(f"learned by {len(reach.learned)} of {seeds(len(reach.seeds))}")
    return f" ({'; '.join(parts)})" if parts else ""


def _missing(task: TaskAnalysis) -> list[str]:
    """Seeds of which it is unknown whether they learned the task, and what to add."""
    if not task.unknown:
        return []
    whose = listed([f"{called(name)} ({seeds(n)})" for name, n in task.unknown.items()])
    return [
        f"No score in distribution at length {task.trained}: {whose}. Whether these seeds learned the task is unknown, "
        f"so they are not compared: add rows with split id and length {task.trained}."
    ]


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
        Basis.LEARNING: "by the number of seeds that learned the task",
    }
    parts = [f"above {named(who)} {' and '.join(endpoint[b] for b in own)}" for own, who in groups.items() if own]
    cannot = [name for name in groups.get((), []) if not task.learned or task.learned[name][0]]
    end = [f"{named(cannot)} cannot go to {range_words(task)}"] if cannot else []
    return "; ".join([", ".join(parts) + _at_floor(task, use), *end]) + "."


def _at_floor(task: TaskAnalysis, encodings: Iterable[str]) -> str:
    """That seeds which did not learn the task are in these means, where there are any."""
    failed = any(task.shown.cell(name).failed[0] for name in encodings)
    return ", failed seeds as the floor" if failed and task.bar is not None else ""


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
    tied = named([cell.encoding for cell in means if _number(cell) == _number(best)])
    small = any(pair.claim and pair.basis is not Basis.LEARNING for pair in task.pairs)
    by = f" by {MARGIN:g}" if small and task.bar is not None else ""
    what = f"Not one encoding is shown to be above all others{by} {at_headline(task)}"
    if short:
        few = f"{'has' if len(short) == 1 else 'have'} fewer than the {seeds(needed)} that it takes"
        what = f"No recommendation {at_headline(task)}, where {named(short)} {few}"
    return [f"{what}; the best mean there, {_number(best)}, is that of {tied}."]


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


def _not_learned(task: TaskAnalysis) -> str:
    r = next((r for r in reversed(task.ranges) if r.split == "id"), task.ranges[0])
    words = {word for cell in r.cells for word in cell.words}
    closest = max(r.cells, key=lambda cell: cell.inside if cell.inside is not None else -1.0)
    at = (
        f"{named([closest.encoding])} comes closest, {closest.inside:.3f}" if closest.inside is not None else "no score"
    )
    if words <= {Word.DIVERGED, Word.AT_CHANCE}:
        at = "every run diverged" if words == {Word.DIVERGED} else "every one is at the floor"
    scored = " that has scores in distribution" if task.unknown else ""
    return (
        f"Not one encoding{scored} learned {task.task} with this budget ({at}, bar {task.bar:g}), so nothing can be "
        "said about longer sequences: train longer, or make the task easier."
    )


def _number(cell: Cell) -> str:
    return "no score" if cell.interval is None else f"{cell.interval.mean:.3f}"


def _mean(value: float | None) -> str:
    return "no score" if value is None else f"{value:.3f}"


def evidence(analysis: Analysis, task: TaskAnalysis) -> list[str]:
    """What the tests allow to be said, learning first, and what so few seeds cannot see."""
    lines, better = [], "higher score" if task.direction == "higher" else "lower loss"
    titles = {
        Basis.LEARNING: "Learned in more seeds",
        Basis.SCORES: f"{capital(better)} {at_headline(task)}",
        Basis.AREA: f"{capital(better)} {covered(task)}" if task.areas else "",
    }
    claims = {basis: [p for p in task.pairs if p.claim and p.basis is basis] for basis in titles}
    lines += [f"{titles[basis]}: {_claims(task, own)}." for basis, own in claims.items() if own]
    claimed = {frozenset((p.better, p.worse)) for own in claims.values() for p in own}
    for outcome, words in (
        (Outcome.ALIKE, "No difference above 0.02 (corrected for all pairs)"),
        (Outcome.OPEN, "Not told apart"),
        (Outcome.FEW_SEEDS, "Not enough seeds for a claim"),
    ):
        same = [p for p in task.pairs if p.outcome is outcome and p.basis is Basis.SCORES]
        same = [p for p in same if frozenset((p.better, p.worse)) not in claimed]
        if same:
            lines.append(f"{words} {at_headline(task)}: {_named(same)}.")
    if len(task.seeds) < analysis.seeds_needed:
        verb = "is" if len(task.seeds) == 1 else "are"
        lines.append(f"A claim about scores takes {seeds(analysis.seeds_needed)}; there {verb} {len(task.seeds)}.")
    elif not claimed and any(p.outcome is not Outcome.SAME for p in task.pairs):
        lines.append(f"The tests tell no pair apart at a risk of {analysis.alpha:g}.")
    lines += _failures(task, [p.better for own in claims.values() for p in own])
    return [*lines, _error_rates(task)] if claimed else lines


def _error_rates(task: TaskAnalysis) -> str:
    """How often a comparison of this design claims what is not so."""
    encodings, n, alike, rare = false_claims(len(task.encodings), task.verdict.seeds)
    return (
        f"Of simulated comparisons of {encodings} equal encodings with {n} seeds, {100 * alike:.0f} % claim a "
        f"difference if all vary alike, and {100 * rare:.0f} % if half of them fail in one seed of five."
    )


def _failures(task: TaskAnalysis, better: Sequence[str]) -> list[str]:
    """How often those that are claimed to be better failed; where they never did, what so few seeds cannot see."""
    failed = {name: task.shown.cell(name).failed for name in dict.fromkeys(better)}
    failing = [name for name, (bad, _) in failed.items() if bad]
    rates = []
    for name in failing[:MOST_PARTS]:
        (bad, of), (low, high) = failed[name], rate_interval(*failed[name])
        rates.append(
            f"{named([name])} in {bad} of {seeds(of)}, a rate of {100 * bad / of:.0f} % (95 % interval "
            f"{100 * low:.0f} to {100 * high:.0f} %)"
        )
    lines = [f"Failed: {'; '.join([*rates, *more(failing, 'encoding')])}."] if rates else []
    if task.verdict.unseen is not None and len(failing) < len(failed):
        n, leave = seeds(task.verdict.seeds), "leaves" if task.verdict.seeds == 1 else "leave"
        agree = f"Where no seed failed, {n} {leave}" if rates else f"{n} that all agree {leave}"
        lines.append(f"{agree} a failure rate of up to {100 * task.verdict.unseen:.0f} % unseen.")
    return lines


def _named(pairs: Sequence[Contrast]) -> str:
    if len(pairs) > FEW:
        return f"{len(pairs)} pairs"
    return "; ".join(f"{called(p.better)} and {called(p.worse)}" for p in pairs)


def _claims(task: TaskAnalysis, pairs: Sequence[Contrast]) -> str:
    """Who is better than whom, by at least how much, and how sure that is; those with the same losers share a part."""
    by_winner: dict[str, list[Contrast]] = {}
    for pair in pairs:
        by_winner.setdefault(pair.better, []).append(pair)
    alike: dict[tuple[str, ...], list[str]] = {}
    for better, own in by_winner.items():
        alike.setdefault(tuple(sorted(pair.worse for pair in own)), []).append(better)
    parts = []
    for group, winners in list(alike.items())[:MOST_PARTS]:
        members = [pair for better in winners for pair in by_winner[better]]
        p = max(pair.corrected for pair in members)
        scores = {name for pair in members if pair.basis is not Basis.LEARNING for name in (pair.better, pair.worse)}
        facts = f"{_by(members)}{_at_floor(task, scores)}, {p_words(p)}"
        parts.append(f"{listed([*map(called, winners)])} over {listed([*map(called, group)])} ({facts})")
    return "; ".join([*parts, *more(list(alike), "such group")])


def more(things: Sequence[object], what: str) -> list[str]:
    """The end of a sentence that does not name all of so many."""
    left = len(things) - MOST_PARTS
    return [f"and {left:,} more {what}{'s' * (left > 1)}, all of them in the tables"] if left > 0 else []


def _by(pairs: Sequence[Contrast]) -> str:
    """The smallest difference of some pairs."""
    least = min(pairs, key=lambda pair: abs(pair.difference.mean))
    some = "from " * (len({pair.difference.mean for pair in pairs}) > 1)
    if least.basis is Basis.LEARNING:
        (good, of), (bad, also) = ((round(m * n), n) for m, n in zip(least.means, least.seeds, strict=True))
        return f"{some}{good} of {of} against {bad} of {also}"
    counts = sorted({n for pair in pairs for n in pair.seeds})
    span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"mean difference {some}{abs(least.difference.mean):.3f}, {span} seeds each"
