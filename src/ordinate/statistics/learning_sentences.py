"""Sentences on learning: how far each encoding holds, which did not learn the task and how their training ended."""

from collections.abc import Sequence

from ordinate.statistics.gap import share_kept
from ordinate.statistics.learning import Steps
from ordinate.statistics.phrases import (
    MOST_PARTS,
    below_bar,
    called,
    listed,
    more,
    named,
    range_title,
    reach_multiple,
    reach_span,
    seeds,
    span,
)
from ordinate.statistics.reach import Reach
from ordinate.statistics.types import TaskAnalysis
from ordinate.statistics.words import Word

_OTHERWISE = {
    Word.STILL_RISING: "still rising", Word.LOST_AGAIN: "lost it again", Word.DIVERGED: "diverged",
    Word.AT_CHANCE: "at chance", Word.DID_NOT_FIT: "below the bar",
}  # fmt: skip


def holds(task: TaskAnalysis) -> list[str]:
    """How far each holds: `rope holds to at least 4x; alibi: not within 1,500 steps, still rising (0.88).`"""
    groups: dict[tuple[float, str], list[str]] = {}
    for encoding, reach in task.reach.items():
        if reach.median is not None and reach.by_most:
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
    few = [name for name, reach in task.reach.items() if reach.learned and not reach.by_most]
    parts += [_learned_by_few(task, name) for name in few[:MOST_PARTS]] + more(few, "encoding")
    parts += not_learned_by(task, [name for name, reach in task.reach.items() if not reach.learned and reach.seeds])
    untried = [name for name, reach in task.reach.items() if not reach.seeds and name not in task.unknown]
    has = "has" if len(untried) == 1 else "have"
    parts += [f"{named(untried)} {has} no result"] if untried else []
    return [f"{'; '.join(parts)}."] if parts else []


def _spread(reach: Reach) -> str:
    """What the median of an encoding hides."""
    parts = reach_span(reach)
    if len(reach.learned) < len(reach.seeds):
        parts.append(f"learned by {len(reach.learned)} of {seeds(len(reach.seeds))}")
    return f" ({'; '.join(parts)})" if parts else ""


def _learned_by_few(task: TaskAnalysis, name: str) -> str:
    """`rope learned it in 1 of 3 seeds only (2 still rising)`: as an encoding it holds nowhere."""
    reach, steps = task.reach[name], task.steps.get(name)
    others = f" ({how})" if steps and (how := _others(steps, None)) else ""
    return f"{called(name)} learned it in {len(reach.learned)} of {seeds(len(reach.seeds))} only{others}"


def not_learned_by(task: TaskAnalysis, names: Sequence[str]) -> list[str]:
    """Encodings that no seed learned the task with, those that ended alike together, each with its final score."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        groups.setdefault(_ending(task, name), []).append(name)
    parts = []
    for (how, others), members in list(groups.items())[:MOST_PARTS]:
        scores = [_final(task, name) for name in members]
        one = len(members) == 1
        each = [called(name) + f" at {score}" * bool(score) for name, score in zip(members, scores, strict=True)]
        aside = "; ".join(part for part in (scores[0] if one else "", others) if part)
        parts.append((called(members[0]) if one else listed(each)) + how + f" ({aside})" * bool(aside))
    return parts + more(list(groups), "such group")


def _ending(task: TaskAnalysis, name: str) -> tuple[str, str]:
    """How training ended for most seeds, where its course is known, and how for others."""
    steps = task.steps.get(name)
    if steps is None or not steps.ends:
        word = None if task.inside is None else task.inside.cell(name).word
        return " diverged" if word is Word.DIVERGED else " did not learn it", ""
    common, n = steps.words.most_common(1)[0]
    main = common if steps.mostly(common) else None
    whose = f" in {n} of {seeds(len(steps.ends))}" if len(steps.ends) > 1 else ""
    match main:
        case Word.STILL_RISING:
            how = f": not within {_budget(steps)}, still rising"
        case Word.LOST_AGAIN:
            at = span(sorted(end.reached for end in steps.ends if end.word is main and end.reached))
            how = f" reached the bar at step {at}{whose}, ended below it"
        case Word.DIVERGED:
            how = f" diverged{whose}"
        case Word.AT_CHANCE:
            how = f" stayed at chance in {_budget(steps)}"
        case _:
            how = f" did not learn it in {_budget(steps)}"
    return how, _others(steps, main)


def _budget(steps: Steps) -> str:
    """`432 steps (8 times the 54 of rope)`."""
    if steps.fastest is None:
        return f"{steps.budget:,} steps"
    fastest, own = steps.fastest
    return f"{steps.budget:,} steps ({steps.budget / own:.0f} times the {own:,} of {called(fastest)})"


def _others(steps: Steps, main: Word | None) -> str:
    """`1 seed diverged, 2 at chance`: how those ended that did not end like most, nor learned the task."""
    left = {word: n for word, n in steps.words.items() if word in _OTHERWISE and word is not main}
    first, *rest = [(n, _OTHERWISE[word]) for word, n in left.items()] or [(0, "")]
    return ", ".join([f"{seeds(first[0])} {first[1]}", *(f"{n} {how}" for n, how in rest)]) if first[0] else ""


def _final(task: TaskAnalysis, name: str) -> str:
    """The mean score in distribution, beside the steps that it took."""
    score = None if task.inside is None else task.inside.cell(name).inside
    return "" if score is None or not task.steps else below_bar(score, task.bar)


def not_learned(task: TaskAnalysis) -> str:
    """No encoding learned the task: how close they came, and what to do. Only what diverged takes another rate."""
    r = next((r for r in reversed(task.ranges) if r.split == "id"), task.ranges[0])
    words = {word for cell in r.cells for word in cell.words}
    if words == {Word.DIVERGED}:
        return f"Every run on {task.task} diverged, so nothing can be compared: lower the learning rate."
    closest = max(r.cells, key=lambda cell: cell.inside if cell.inside is not None else -1.0)
    at, todo = "no score", "train longer, or make the task easier"
    if words <= {Word.DIVERGED, Word.AT_CHANCE}:
        at = "every one that did not diverge is at the floor" if Word.DIVERGED in words else "every one is at the floor"
    elif closest.inside is not None:
        at = f"{named([closest.encoding])} comes closest, {below_bar(closest.inside, task.bar)}"
    steps = task.steps.get(closest.encoding)
    if steps and steps.rising:
        at, todo = f"{at} and still rising", "give them more steps"
    elif steps and steps.mostly(Word.LOST_AGAIN):
        at, todo = f"{at} after it was at the bar", "lower the learning rate, or train longer"
    budget = max((own.budget for own in task.steps.values()), default=0)
    within = f" within {budget:,} steps" if budget else ""
    scored = " that has scores in distribution" if task.unknown else ""
    return (
        f"Not one encoding{scored} learned {task.task}{within} ({at}, bar {task.bar:g}), so nothing can be said about "
        f"longer sequences: {todo}."
    )


def kept(task: TaskAnalysis) -> list[str]:
    """What is left of the scores of encodings that no seed learned the task with, each at its longest length."""
    longer = [r for r in task.ranges if r.split == "ood"]
    if task.inside is None:
        return []
    parts = []
    for name in (name for name, (good, of) in task.learned.items() if of and not good):
        inside = task.inside.cell(name).inside
        longest = next((r for r in reversed(longer) if r.cell(name).unranked is not None), None)
        share = None if longest is None else share_kept(task, name, longest)
        if inside is not None and longest is not None and share is not None:
            own = f"{called(name)} ({below_bar(inside, task.bar)}) keeps {100 * share:.0f} %"
            parts.append(f"{own} at {range_title(task, longest)}")
    said = "; ".join([*parts[:MOST_PARTS], *more(parts, "encoding")])
    return [f"Not ranked: of its score above chance, {said}."] if parts else []
