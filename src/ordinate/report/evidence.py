"""How good the evidence of a verdict is: what was tested, and what so few seeds cannot see."""

from collections.abc import Sequence

from ordinate.report.words import at_headline, called, capital, listed, named, p_words, seeds
from ordinate.statistics.analysis import Analysis, Basis, Contrast, Outcome, TaskAnalysis
from ordinate.statistics.pairs import failure_rate

FEW = 6  # pairs that a sentence lists
MOST_PARTS = 12  # of a sentence; all pairs are in their table


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
