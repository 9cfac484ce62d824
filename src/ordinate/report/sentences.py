"""The verdict in sentences: what to use, how far each holds, and how good the evidence is."""

from collections.abc import Sequence

from ordinate.report.words import called, capital, listed, p_words, seeds, times
from ordinate.statistics.analysis import Analysis, Basis, Cell, Contrast, Finding, Outcome, TaskAnalysis
from ordinate.statistics.reach import Reach
from ordinate.statistics.verdict import Word

FEW = 6  # pairs that a sentence lists


def verdicts(analysis: Analysis) -> list[str]:
    """All sentences of all tasks, each with its task."""
    return [f"{task.task}: {line}" for task in analysis.tasks for line in sentences(analysis, task)]


def sentences(analysis: Analysis, task: TaskAnalysis) -> tuple[str, ...]:
    """A few on one task; the first one is the bottom line."""
    finding = task.verdict.finding
    if finding is Finding.ALONE:
        return (*_holds(task, ""), "One encoding alone is no comparison.")
    if finding is Finding.NOT_LEARNT:
        return (_not_learnt(task), *_evidence(analysis, task))
    use = ""
    if finding is Finding.USE:
        use = f"Use {listed([called(name) for name in task.verdict.use], 'or')}: "
    first = _holds(task, use) or [_best_mean(task, use)]
    return (*first, *_shown(task), *_evidence(analysis, task))


def _holds(task: TaskAnalysis, use: str) -> list[str]:
    """How far everyone holds: `rope holds to 4x, the longest tested; t5 to 2x; alibi did not learn it.`"""
    if not task.reach:
        return []
    groups: dict[tuple[float | None, str], list[str]] = {}
    for encoding, reach in task.reach.items():
        groups.setdefault((reach.median, _spread(reach)), []).append(encoding)
    ordered = sorted(groups.items(), key=lambda item: -(item[0][0] if item[0][0] is not None else -1.0))
    parts, nobody_yet = [], True
    for (median, spread), names in ordered:
        if median is None:
            continue
        longest = task.reach[names[0]].longest
        who = listed([called(name) for name in names])
        if nobody_yet and use and tuple(sorted(names)) == tuple(sorted(task.verdict.use)):
            who = "it" if len(names) == 1 else "both" if len(names) == 2 else "all"
        verb = (" holds" if len(names) == 1 else " hold") if nobody_yet else ""
        end = ", the longest tested" if median == longest > 1 and nobody_yet else ""
        parts.append(f"{who}{verb} to {times(median)}{spread}{end}")
        nobody_yet = False
    tried = [name for name, reach in task.reach.items() if not reach.learnt and reach.seeds]
    untried = [name for name, reach in task.reach.items() if not reach.seeds]
    parts += [f"{listed([called(name) for name in tried])} did not learn it"] if tried else []
    parts += [f"{listed([called(name) for name in untried])} has no result"] if untried else []
    text = "; ".join(parts)
    return [f"{use}{text if use else capital_name(text)}."]


def capital_name(text: str) -> str:
    """A sentence may begin with the name of an encoding, which keeps its letters; other words get a capital."""
    return capital(text) if text.startswith("no encoding") else text


def _spread(reach: Reach) -> str:
    """What the median of an encoding hides."""
    if reach.low is None or reach.high is None:
        return ""
    parts = [] if reach.low == reach.high else [f"{times(reach.low)} to {times(reach.high)}"]
    if len(reach.learnt) < len(reach.seeds):
        parts.append(f"learnt by {len(reach.learnt)} of {seeds(len(reach.seeds))}")
    return f" ({'; '.join(parts)})" if parts else ""


def _best_mean(task: TaskAnalysis, use: str) -> str:
    """For tasks without a bar or without scores in distribution."""
    best = task.shown.cells[0]
    if use:
        means = listed([_number(task.shown.cell(name)) for name in task.verdict.use])
        return f"{use}better than every other encoding {at_headline(task)}, with a mean of {means}."
    return (
        f"Not one encoding is shown to be above all others; {called(best.encoding)} has the best mean "
        f"({_number(best)}, {range_words(task)})."
    )


def _shown(task: TaskAnalysis) -> list[str]:
    """Where nobody is above all others: what was seen, and what was not shown."""
    if not task.reach:
        return []
    r = task.shown
    means = [cell for cell in r.cells if cell.interval is not None]
    if task.verdict.finding is Finding.USE:
        best = listed([f"{called(name)} ({_number(r.cell(name))})" for name in task.verdict.use])
        refusing = [called(cell.encoding) for cell in r.cells if cell.word is Word.OUT_OF_RANGE]
        tested = len(r.cells) - len(task.verdict.use) - len(refusing)
        above = [f"{capital(at_headline(task))} the tests set {best} above every other encoding"] if tested else []
        cannot = f"{listed(refusing)} cannot go to {range_words(task)}" if refusing else ""
        return [capital("; ".join([*above, *([cannot] if cannot else [])])) + "."]
    if not means:
        return [f"Not one encoding that learnt it can go to {range_words(task)}."]
    if not any({Word.SOLVES, Word.PARTIAL} & cell.words.keys() for cell in r.cells):
        return [f"{capital(at_headline(task))} every encoding is at the floor ({r.floor:.3f})."]
    best_cell = means[0]
    return [
        f"Not one encoding is shown to be above all others {at_headline(task)}; the best mean there has "
        f"{called(best_cell.encoding)} ({_number(best_cell)})."
    ]


def range_words(task: TaskAnalysis) -> str:
    """The headline range with its multiple of the trained length: `longer 64 (2x)`."""
    r = task.shown
    multiple = f" ({times(r.length / task.trained)})" if task.trained and r.split == "ood" else ""
    return r.name + multiple


def at_headline(task: TaskAnalysis) -> str:
    """`at longer 64 (2x)`, `in distribution 32`."""
    return ("" if task.shown.split == "id" else "at ") + range_words(task)


def _not_learnt(task: TaskAnalysis) -> str:
    r = next((r for r in reversed(task.ranges) if r.split == "id"), task.ranges[0])
    words = {word for cell in r.cells for word in cell.words}
    closest = max(r.cells, key=lambda cell: cell.inside if cell.inside is not None else -1.0)
    at = f"{called(closest.encoding)} comes closest, {closest.inside:.3f}" if closest.inside is not None else "no score"
    if words <= {Word.DIVERGED, Word.AT_CHANCE}:
        at = "every run diverged" if words == {Word.DIVERGED} else "every one is at the floor"
    return (
        f"Not one encoding learnt {task.task} with this budget ({at}, bar {task.bar:g}), so nothing can be said about "
        "longer sequences: train longer, or make the task easier."
    )


def _evidence(analysis: Analysis, task: TaskAnalysis) -> list[str]:
    """What the tests allow to be said, learning first, and what so few seeds cannot see."""
    lines = []
    learning = [p for p in task.pairs if p.claim and p.basis is Basis.LEARNING]
    if learning:
        lines.append(f"Learnt in more seeds: {_claims(learning)}.")
    scores = [p for p in task.pairs if p.claim and p.basis is Basis.SCORES]
    if scores:
        better = "higher score" if task.direction == "higher" else "lower loss"
        lines.append(f"{capital(better)} {at_headline(task)}: {_claims(scores)}.")
    claimed = {frozenset((p.better, p.worse)) for p in (*learning, *scores)}
    for outcome, words in (
        (Outcome.ALIKE, "No difference above 0.02"),
        (Outcome.OPEN, "Not told apart"),
        (Outcome.FEW_SEEDS, "Not enough seeds for a claim"),
    ):
        same = [p for p in task.pairs if p.outcome is outcome and p.basis is Basis.SCORES]
        same = [p for p in same if frozenset((p.better, p.worse)) not in claimed]
        if same:
            lines.append(f"{words} {at_headline(task)}: {_named(same)}.")
    if len(task.seeds) < analysis.seeds_needed:
        lines.append(
            f"A claim about any of the {analysis.pairs} pairs takes {analysis.seeds_needed} seeds; there are "
            f"{len(task.seeds)}."
        )
    elif not learning and not scores:
        lines.append(f"The tests tell no pair apart at a risk of {analysis.alpha:g}.")
    if task.verdict.unseen is not None and (learning or scores):
        lines.append(
            f"{capital(seeds(task.verdict.seeds))} that all agree leave a failure rate of up to "
            f"{100 * task.verdict.unseen:.0f} % unseen."
        )
    return lines


def _named(pairs: Sequence[Contrast]) -> str:
    if len(pairs) > FEW:
        return f"{len(pairs)} pairs"
    return "; ".join(f"{called(p.better)} and {called(p.worse)}" for p in pairs)


def _claims(pairs: Sequence[Contrast]) -> str:
    """Who is better than whom, by at least how much, and how sure that is; those with the same losers share a part."""
    worse: dict[str, list[str]] = {}
    for pair in pairs:
        worse.setdefault(pair.better, []).append(pair.worse)
    alike: dict[tuple[str, ...], list[str]] = {}
    for better, losers in worse.items():
        alike.setdefault(tuple(sorted(losers)), []).append(better)
    parts = []
    for group, winners in alike.items():
        members = [p for p in pairs if p.better in winners]
        p = max(max(p.corrected, p.corrected_welch or 0.0) for p in members)
        facts = f"{_by(members)}, {p_words(p)}"
        parts.append(f"{listed([*map(called, winners)])} over {listed([*map(called, group)])} ({facts})")
    return "; ".join(parts)


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


def _number(cell: Cell) -> str:
    return "no score" if cell.interval is None else f"{cell.interval.mean:.3f}"
