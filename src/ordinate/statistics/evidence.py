"""What the tests of a task say in sentences: claims, pairs that are not told apart, failures, and rates of error."""

from collections.abc import Collection, Iterable, Sequence

from ordinate.statistics.error_rates import false_claims
from ordinate.statistics.interval import rate_interval
from ordinate.statistics.phrases import (
    MOST_PARTS,
    at_headline,
    called,
    capital,
    covered,
    listed,
    more,
    named,
    p_words,
    seeds,
)
from ordinate.statistics.types import Analysis, Basis, Contrast, Outcome, TaskAnalysis
from ordinate.statistics.words import Word

FEW = 6  # pairs that a sentence lists


def evidence(analysis: Analysis, task: TaskAnalysis) -> list[str]:
    """What the tests allow to be said, learning first, and what so few seeds cannot see."""
    lines, better = [], "higher score" if task.direction == "higher" else "lower loss"
    titles = {
        Basis.LEARNING: "Learned in more seeds" + " within the budget" * any(s.rising for s in task.steps.values()),
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
        f"Simulated comparisons of {encodings} encodings that do not differ, with {n} seeds each, claim some "
        f"difference in {100 * alike:.0f} % of cases where all vary alike, and in {100 * rare:.0f} % where half "
        "of them fail in one seed of five: look at the seeds before relying on a claim about such encodings."
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
        tested = [pair for pair in members if pair.basis is not Basis.LEARNING]
        names = {name for pair in tested for name in (pair.better, pair.worse)}
        facts = f"{_by(members)}{at_floor(task, names, {pair.basis for pair in tested})}, {p_words(p)}"
        parts.append(f"{listed([*map(called, winners)])} over {listed([*map(called, group)])} ({facts})")
    return "; ".join([*parts, *more(list(alike), "such group")])


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


def at_floor(task: TaskAnalysis, encodings: Iterable[str], bases: Collection[Basis]) -> str:
    """That failed seeds are in these means as the floor, where there are any.

    In distribution a seed has its own score, whether it learned the task or not, unless it diverged.
    """
    if task.bar is None or not bases:
        return ""
    ranges = [r for r in task.ranges if r.split == "ood"] if Basis.AREA in bases else [task.shown]
    cells = [r.cell(name) for r in ranges for name in encodings]
    if task.shown.split == "id":
        return ", diverged seeds as the floor" if any(Word.DIVERGED in cell.words for cell in cells) else ""
    beyond = " beyond 1x" if Basis.AREA in bases and task.trained is not None else ""
    return f", failed seeds as the floor{beyond}" if any(cell.failed[0] for cell in cells) else ""
