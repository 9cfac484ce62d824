"""Verdicts in sentences: what to use, how far each encoding holds, what was tested, what so few seeds cannot show."""

from collections.abc import Sequence

from ordinate.statistics.alarms import Unfinished
from ordinate.statistics.interval import failure_rate
from ordinate.statistics.phrases import (
    at_headline,
    called,
    capital,
    counted,
    listed,
    named,
    p_words,
    range_words,
    seeds,
    times,
    untested,
)
from ordinate.statistics.reach import Reach
from ordinate.statistics.types import Analysis, Basis, Cell, Contrast, Finding, Outcome, TaskAnalysis
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
    """Whom to use, or what was seen; how far everyone holds; what sets one above the others."""
    finding = task.verdict.finding
    if finding is Finding.NOT_LEARNED:
        return [_not_learned(task)]
    if finding is Finding.ALONE:
        return _holds(task) or [f"The mean of {named(task.encodings[:1])} is {_number(task.shown.cells[0])}."]
    if finding is Finding.OPEN:
        return [*_holds(task), *_open(analysis, task)]
    if not task.reach:
        return [_best_mean(task)]
    names = listed([called(name) for name in task.verdict.use], "or")
    if not _farthest(task):  # otherwise their reach does not argue for them
        ends = "A reach ends at the first tested length below the bar"
        return [f"Use {names}: {_above(task)}", *_holds(task, f"{ends}: ")]
    if len(task.verdict.use) == 1:
        return [*_holds(task, f"Use {names}: "), capital(_above(task))]
    others = [name for name in task.encodings if name not in task.verdict.use]
    (inner,) = _holds(task, f"Use {names} (best mean first): ", task.verdict.use)
    return [inner, *_holds(task, "Of the others, ", others), capital(_above(task))]


def _farthest(task: TaskAnalysis) -> bool:
    """Whether those to be used hold farther than all others."""
    medians = {name: reach.median or 0.0 for name, reach in task.reach.items()}
    least = min(medians[name] for name in task.verdict.use)
    return all(value < least for name, value in medians.items() if name not in task.verdict.use)


def _holds(task: TaskAnalysis, before: str = "", names: Sequence[str] = ()) -> list[str]:
    """How far they hold (all, if none are named): `rope holds to 4x, the longest tested; alibi did not learn it.`"""
    groups: dict[tuple[float, str], list[str]] = {}
    chosen = {name: reach for name, reach in task.reach.items() if name in (names or task.reach)}
    for encoding, reach in chosen.items():
        if reach.median is not None:
            groups.setdefault((reach.median, _spread(reach)), []).append(encoding)
    parts: list[str] = []
    by_median = sorted(groups.items(), key=lambda item: -item[0][0])
    for (median, spread), members in by_median[:MOST_PARTS]:
        who = named(members)
        if before.startswith("Use") and tuple(sorted(members)) == tuple(sorted(task.verdict.use)) and not parts:
            who = "it" if len(members) == 1 else "both" if len(members) == 2 else "all"
        one = len(members) == 1
        if not median:
            parts.append(f"{who} {'is' if one else 'are'} below the bar at the shortest tested length already{spread}")
            continue
        verb = (" holds" if one else " hold") if not parts else ""
        end = ", the longest tested" if median == chosen[members[0]].longest > 1 and not parts else ""
        parts.append(f"{who}{verb} to {times(median)}{spread}{end}")
    parts += more(by_median, "such group")
    tried = [name for name, reach in chosen.items() if not reach.learned and reach.seeds]
    untried = [name for name, reach in chosen.items() if not reach.seeds and name not in task.unknown]
    parts += [f"{named(tried)} did not learn it"] if tried else []
    has = "has" if len(untried) == 1 else "have"
    parts += [f"{named(untried)} {has} no result"] if untried else []
    text = "; ".join(parts)
    return [f"{before}{text if before else _beginning(text)}."] if parts else []


def _beginning(text: str) -> str:
    """A sentence may begin with the name of an encoding, which keeps its letters; other words get a capital."""
    return capital(text) if text.startswith("no encoding") else text


def _spread(reach: Reach) -> str:
    """What the median of an encoding hides."""
    if reach.low is None or reach.high is None:
        return ""
    parts = [] if reach.low == reach.high else [f"{times(reach.low)} to {times(reach.high)}"]
    parts += untested(reach)
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


def _best_mean(task: TaskAnalysis) -> str:
    """For tasks without a bar or without scores in distribution."""
    means = listed([_number(task.shown.cell(name)) for name in task.verdict.use])
    names = listed([called(name) for name in task.verdict.use], "or")
    return f"Use {names}: better than every other encoding {at_headline(task)}, with a mean of {means}."


def _above(task: TaskAnalysis) -> str:
    """What sets those to be used above each of the others: scores, learning, or that the other cannot go there."""
    use, bases = task.verdict.use, dict[tuple[str, str], set[Basis]]()
    for pair in task.pairs:
        if pair.claim:
            bases.setdefault((pair.better, pair.worse), set()).add(pair.basis)
    groups: dict[str, list[str]] = {"score": [], "learning": [], "either": [], "cannot": []}
    for other in (name for name in task.encodings if name not in use):
        own = [bases.get((name, other), set()) for name in use]
        kind = "either" if all(own) else "cannot"
        kind = "learning" if all(Basis.LEARNING in basis for basis in own) else kind
        kind = "score" if all(Basis.SCORES in basis for basis in own) else kind
        groups[kind].append(other)
    means = listed([_number(task.shown.cell(name)) for name in use])
    mean = f"its mean is {means}" if len(use) == 1 else f"their means are {means}"
    score = f"by score {at_headline(task)}, where {mean}"
    learning = "by the number of seeds that learned the task"
    by = (("score", score), ("learning", learning), ("either", f"{score}, or {learning}"))
    parts = [f"above {named(groups[kind])} {words}" for kind, words in by if groups[kind]]
    end = f"; {named(groups['cannot'])} cannot go to {range_words(task)}" if groups["cannot"] else ""
    if all(task.shown.cell(name).interval is None for name in use):
        end += f"; {at_headline(task)} there is no score of it"
    elif not groups["score"] and not groups["either"]:
        end += f"; {at_headline(task)} {mean}, the floor {task.shown.floor:.3f}"
    return f"the tests set {named(use)} {', and '.join(parts)}{end}."


def _open(analysis: Analysis, task: TaskAnalysis) -> list[str]:
    """Where no encoding is above all others: what was seen, and what was not shown."""
    r = task.shown
    means = [cell for cell in r.cells if cell.interval is not None]
    if task.verdict.held_back:
        failed = {cell.encoding: cell.failed for cell in r.cells}
        others = [cell.encoding for cell in means if cell.encoding not in task.verdict.held_back]
        least = min((failed[name] for name in others), key=lambda bad_of: bad_of[0] / bad_of[1])
        whose = named([name for name in others if failed[name] == least])
        more = [name for name in task.verdict.held_back if failed[name][0] * least[1] > least[0] * failed[name][1]]
        bad = "; ".join(f"{named([name])} in {failed[name][0]} of {failed[name][1]}" for name in more)
        higher = "higher scores" if task.direction == "higher" else "lower losses"
        show, fail = ("show" + "s" * (len(task.verdict.held_back) == 1), "fail" + "s" * (len(more) == 1))
        who = named(more) if len(more) < len(task.verdict.held_back) else ""
        return [
            f"No recommendation: {named(task.verdict.held_back)} {show} {higher} {at_headline(task)}, but "
            f"{f'{who} ' if who else ''}{fail} in more seeds ({bad}) than {whose} ({least[0]} of {least[1]})."
        ]
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
    name = named([best.encoding])
    short = [cell.encoding for cell in r.cells if 0 < len(cell.seeds) < analysis.seeds_needed]
    if short and len(task.seeds) >= analysis.seeds_needed:
        has = "has" if len(short) == 1 else "have"
        return [
            f"No recommendation {at_headline(task)}, where {named(short)} {has} fewer than the "
            f"{seeds(analysis.seeds_needed)} that it takes; the best mean there, {_number(best)}, is that of {name}."
        ]
    return [
        f"Not one encoding is shown to be above all others {at_headline(task)}; the best mean there, {_number(best)}, "
        f"is that of {name}."
    ]


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


def evidence(analysis: Analysis, task: TaskAnalysis) -> list[str]:
    """What the tests allow to be said, learning first, and what so few seeds cannot see."""
    lines = []
    learning = [p for p in task.pairs if p.claim and p.basis is Basis.LEARNING]
    if learning:
        lines.append(f"Learned in more seeds: {_claims(learning)}.")
    scores = [p for p in task.pairs if p.claim and p.basis is Basis.SCORES]
    if scores:
        better = "higher score" if task.direction == "higher" else "lower loss"
        lines.append(f"{capital(better)} {at_headline(task)}: {_claims(scores)}.")
    claimed = {frozenset((p.better, p.worse)) for p in (*learning, *scores)}
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
        pairs = "the one pair" if analysis.pairs == 1 else f"any of the {analysis.pairs} pairs"
        verb = "is" if len(task.seeds) == 1 else "are"
        lines.append(f"A claim about {pairs} takes {seeds(analysis.seeds_needed)}; there {verb} {len(task.seeds)}.")
    elif not learning and not scores and any(p.outcome is not Outcome.SAME for p in task.pairs):
        lines.append(f"The tests tell no pair apart at a risk of {analysis.alpha:g}.")
    return [*lines, *_failures(task, [p.better for p in (*learning, *scores)])]


def _failures(task: TaskAnalysis, better: Sequence[str]) -> list[str]:
    """How often those that are claimed to be better failed; where they never did, what so few seeds cannot see."""
    failed = {name: task.shown.cell(name).failed for name in dict.fromkeys(better)}
    failing = [name for name, (bad, _) in failed.items() if bad]
    rates = []
    for name in failing[:MOST_PARTS]:
        (bad, of), (low, high) = failed[name], failure_rate(*failed[name])
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


def _claims(pairs: Sequence[Contrast]) -> str:
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
        p = max(max(p.corrected, p.corrected_welch or 0.0) for p in members)
        facts = f"{_by(members)}, {p_words(p)}"
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
