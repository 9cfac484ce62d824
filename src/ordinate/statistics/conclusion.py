"""Whom the tests set above all others."""

from collections.abc import Mapping, Sequence

from ordinate.statistics.analysis import Contrast, Finding, Range, Verdict
from ordinate.statistics.pairs import unseen
from ordinate.statistics.verdict import Word


def conclude(
    encodings: Sequence[str],
    shown: Range,
    pairs: Sequence[Contrast],
    learnt: Mapping[str, tuple[int, int]],
    needed: int,
) -> Verdict:
    """The verdict on a task. `learnt` is empty where a loss is the score; fewer seeds than needed recommend nobody."""
    seeds = min((len(cell.seeds) for cell in shown.cells if cell.seeds), default=0)
    missed = unseen(seeds) if seeds else None
    if len(encodings) < 2:
        return Verdict(Finding.ALONE, (), seeds, missed)
    if learnt and not any(good for good, _ in learnt.values()):
        return Verdict(Finding.NOT_LEARNT, (), seeds, missed)
    use = _top(encodings, shown, pairs) if seeds >= needed else ()
    return Verdict(Finding.USE if use else Finding.OPEN, use, seeds, missed)


def _top(encodings: Sequence[str], shown: Range, pairs: Sequence[Contrast]) -> tuple[str, ...]:
    """The smallest group of which everyone is above everyone else, if nobody in it is above another."""
    claims = {(pair.better, pair.worse) for pair in pairs if pair.claim}
    refuses = {cell.encoding for cell in shown.cells if cell.word is Word.OUT_OF_RANGE}
    goes = {
        cell.encoding for cell in shown.cells if cell.words.keys() and cell.words.keys() <= {Word.SOLVES, Word.PARTIAL}
    }

    def above(one: str, two: str) -> bool:
        """By scores or learning, and not the other way by the other of the two; or by going there at all."""
        if (two, one) in claims:
            return False
        return (one, two) in claims or (one in goes and two in refuses)

    order = sorted(encodings, key=lambda one: -sum(above(one, two) for two in encodings if two != one))
    for size in range(1, len(order)):
        group, others = order[:size], order[size:]
        if any((one, two) in claims for one in group for two in group):
            return ()
        if all(above(one, two) for one in group for two in others):
            return tuple(one for one in encodings if one in group)
    return ()
