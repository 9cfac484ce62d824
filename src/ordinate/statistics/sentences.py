"""The verdict in words: what to use, what the others did, and how good the evidence is."""

from collections.abc import Sequence

from ordinate.statistics.analysis import Cell, Pair, Range, TaskAnalysis

FEW = 6  # pairs that a sentence lists


def verdict(task: TaskAnalysis, alpha: float) -> tuple[str, ...]:
    """A few sentences; the first one is the bottom line."""
    if len(task.encodings) < 2:
        return ("One encoding alone is no comparison.",)
    if task.bar is None:
        return (_lowest(task), *_evidence(task, task.ranges[task.headline], alpha))
    outside = [r for r in task.ranges if r.split != "id"]
    nobody = not any(good for good, _ in task.fits.values())
    if nobody:
        return (_not_learnt(task), *_others(task, task.ranges[0], ()), *_evidence(task, task.ranges[0], alpha))
    if not outside:
        shown = task.ranges[task.headline]
        return (_inside_only(task, shown), *_others(task, shown, _winners(shown)), *_evidence(task, shown, alpha))
    everywhere = [e for e in task.encodings if all(_cell(r, e).word == "solves" for r in outside)]
    shown = task.ranges[task.headline]
    bottom = _solved(task, everywhere, outside) if everywhere else _furthest(task, shown)
    lines = [bottom, *_others(task, shown, tuple(everywhere))]
    alike: dict[str, list[Range]] = {}
    for r in outside:
        if r is not shown:
            alike.setdefault(_list_words(r, figures=False), []).append(r)
    for told, ranges in alike.items():
        names = _spans(ranges)
        lines.append(f"{names[0].upper()}{names[1:]}: {told if len(ranges) > 1 else _list_words(ranges[0])}.")
    return (*lines, *_evidence(task, shown, alpha))


def _solved(task: TaskAnalysis, winners: Sequence[str], outside: Sequence[Range]) -> str:
    """Who solves it everywhere. To say `use` takes more: the tests must set them above all others."""
    n = min(len(cell.seeds) for r in outside for cell in r.cells if cell.encoding in winners)
    what = (
        f"{task.task} beyond training ({_spans(outside)}), in {'all' if n > 1 else 'the only'} {n} seed{'s' * (n > 1)}"
    )
    others = [e for e in task.encodings if e not in winners]
    open_ = [e for e in others if not all(_above(task, winner, e) for winner in winners)]
    if len(winners) == 1:
        if not open_ and others:
            return f"Use {winners[0]}: it alone solves {what}."
        rest = f"; it is not shown to be better than {_and(open_)}" if len(task.seeds) >= task.seeds_needed else ""
        return f"{winners[0]} alone solves {what}{rest}."
    use = f"Use {' or '.join(winners)}: " if not open_ else ""
    return f"{use}{_and(winners)} {'both' if len(winners) == 2 else 'all'} solve {what}."


def _above(task: TaskAnalysis, one: str, two: str) -> bool:
    """Whether one is shown to be better: by its scores, by how often it learnt the task, or by going there at all."""
    r = task.ranges[task.headline]
    pairs = [*r.pairs, *task.fit_pairs]
    return _cell(r, two).word == "out of range" or any(p.claim and (p.better, p.worse) == (one, two) for p in pairs)


def _furthest(task: TaskAnalysis, r: Range) -> str:
    told = [cell for cell in r.cells if cell.interval is not None]
    if not told or told[0].interval is None:
        return f"No encoding that learnt {task.task} can go beyond training ({r.name})."
    if not any({"solves", "partial"} & cell.words.keys() for cell in told):
        return f"No encoding goes beyond training on {task.task}: all stay at the floor ({r.floor:.3f}, {r.name})."
    best, rest = told[0], told[1:]
    good, of = task.fits[best.encoding]
    learnt = "" if good == of else f", in the {good} of {of} seeds that learnt the task"
    figure = f"{told[0].interval.mean:.3f}, {r.name}{learnt}"
    if good == of and rest and all(_above(task, best.encoding, cell.encoding) for cell in r.cells if cell is not best):
        return f"Use {best.encoding}: it goes furthest on {task.task} ({figure}), better than all others."
    return f"No encoding solves {task.task} beyond training in every seed; {best.encoding} goes furthest ({figure})."


def _inside_only(task: TaskAnalysis, r: Range) -> str:
    winners = _winners(r)
    if winners:
        verb = "solves" if len(winners) == 1 else "solve"
        return f"In distribution, {_and(winners)} {verb} {task.task} in every seed; nothing longer was tested."
    return f"No encoding learns {task.task} in every seed; {r.cells[0].encoding} comes closest ({_number(r.cells[0])})."


def _not_learnt(task: TaskAnalysis) -> str:
    r = next((r for r in reversed(task.ranges) if r.split == "id"), task.ranges[0])
    words = {word for cell in r.cells for word in cell.words}
    at = f"{r.cells[0].encoding} comes closest, {_number(r.cells[0])}"
    if words <= {"diverged", "at chance"}:
        at = "every run diverged" if words == {"diverged"} else "every one is at the floor"
    return (
        f"No encoding learnt {task.task} with this budget ({at}, bar {task.bar:g}), so nothing can be said about "
        "longer sequences: train longer, or make the task easier."
    )


def _lowest(task: TaskAnalysis) -> str:
    r = task.ranges[task.headline]
    best = r.cells[0]
    beaten = [p.worse for p in r.pairs if p.claim and p.better == best.encoding]
    if len(beaten) == len(r.cells) - 1:
        return (
            f"Use {best.encoding}: it has the best score on {task.task} ({_number(best)}, {r.name}), better than all."
        )
    return (
        f"No encoding is shown to be the best on {task.task}; {best.encoding} has the best mean "
        f"({_number(best)}, {r.name})."
    )


def _others(task: TaskAnalysis, r: Range, named: Sequence[str]) -> list[str]:
    """Everyone else, grouped by word."""
    rest = _list_words(r, named)
    return [f"{_Name(r)}: {rest}."] if rest else []


def _list_words(r: Range, without: Sequence[str] = (), *, figures: bool = True) -> str:
    groups: dict[str, list[str]] = {}
    for cell in r.cells:
        if cell.encoding in without:
            continue
        key, _, counts = cell.word.partition(" (")[0].partition(": ")
        figure = f" ({counts})" if counts else ""
        if key == "did not fit":
            figure = cell.word.removeprefix("did not fit")
        elif figures and key in ("partial", "fits") and cell.interval:
            figure = f" ({cell.interval.mean:.2f})"
        groups.setdefault(key, []).append(cell.encoding + figure)
    verbs = {"partial": "partly right: ", "fits": "right in distribution only: ", "at chance": "at chance: "}
    verbs |= {"solves": "solved by ", "did not fit": "did not learn the task: ", "out of range": "out of range: "}
    return "; ".join(f"{verbs.get(word, word + ': ')}{_and(members)}" for word, members in groups.items())


def _evidence(task: TaskAnalysis, r: Range, alpha: float) -> list[str]:
    """What the paired tests allow to be said, fit rates first."""
    needed = task.seeds_needed
    n = max((pair.seeds for pair in (*task.fit_pairs, *r.pairs)), default=0)
    if n < needed:
        return [
            f"Not enough seeds for a claim about a pair: {n} of the {needed} that {len(task.encodings)} encodings need "
            f"(--seeds {needed})."
        ]
    lines = []
    fits = [p for p in task.fit_pairs if p.claim]
    if fits:
        lines.append(f"Learnt in more seeds: {_claims(fits)}.")
    claims = [p for p in r.pairs if p.claim]
    if claims:
        better = "higher score" if task.direction == "higher" else "lower loss"
        lines.append(f"{_Name(r)}, {better}: {_claims(claims)}.")
    for remark, words in (
        ("no difference", "No difference above 0.02"),
        ("no evidence", "No evidence of a difference"),
    ):
        same = [p for p in r.pairs if p.remark.startswith(remark)]
        if same:
            named = _and([f"{p.better} and {p.worse}" for p in same]) if len(same) <= FEW else f"{len(same)} pairs"
            lines.append(f"{words} ({r.name}): {named}.")
    if not lines:
        lines.append(f"The tests separate no pair at a risk of {alpha:g}.")
    return lines


def _claims(pairs: Sequence[Pair]) -> str:
    """Who is better than whom, by at least how much, and how sure that is; the same winner is named once."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.better, []).append(pair)
    told = []
    for better, members in groups.items():
        least = min(abs(p.difference.mean) for p in members if p.difference)
        p, n = max(p.corrected or 0.0 for p in members), min(pair.seeds for pair in members)
        by = f"mean difference {'from ' * (len(members) > 1)}{least:.3f}"
        told.append(f"{better} over {_and([m.worse for m in members])} ({by}, {_p(p)}, {n} seeds)")
    return "; ".join(told)


def _p(value: float) -> str:
    return f"p {value:.2g}" if value >= 1e-6 else "p < 1e-6"


def _winners(r: Range) -> list[str]:
    return [cell.encoding for cell in r.cells if cell.word == "solves"]


def _cell(r: Range, encoding: str) -> Cell:
    return next(cell for cell in r.cells if cell.encoding == encoding)


def _number(cell: Cell) -> str:
    told = [score for score in cell.scores if score is not None]
    return f"{sum(told) / len(told):.3f}" if told else "no score"


def _spans(ranges: Sequence[Range]) -> str:
    """`longer 64 and 128`, `longer 40 to 160, shifted 32`."""
    splits: dict[str, list[int]] = {}
    for r in ranges:
        splits.setdefault(r.name.rpartition(" ")[0], []).append(r.length)
    told = []
    for name, lengths in splits.items():
        several = _and([str(n) for n in lengths]) if len(lengths) < 4 else f"{lengths[0]} to {lengths[-1]}"
        told.append(f"{name} {several}")
    return ", ".join(told)


def _Name(r: Range) -> str:  # noqa: N802
    return r.name[0].upper() + r.name[1:]


def _and(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
