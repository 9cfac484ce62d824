"""Whom the tests set above all others."""

from collections.abc import Mapping, Sequence

from ordinate.statistics.analysis import Basis, Contrast, Finding, Range, Verdict
from ordinate.statistics.pairs import unseen
from ordinate.statistics.verdict import Word


def conclude(
    encodings: Sequence[str],
    shown: Range,
    pairs: Sequence[Contrast],
    learnt: Mapping[str, tuple[int, int]],
    needed: int,
) -> Verdict:
    """The verdict on a task. `learnt` is empty where that is unknown; fewer seeds than needed recommend nobody."""
    seeds = min((len(cell.seeds) for cell in shown.cells if cell.seeds), default=0)
    missed = unseen(seeds) if seeds else None
    if len(encodings) < 2:
        return Verdict(Finding.ALONE, (), seeds, missed)
    if any(of for _, of in learnt.values()) and not any(good for good, _ in learnt.values()):
        return Verdict(Finding.NOT_LEARNT, (), seeds, missed)
    if seeds < needed:
        return Verdict(Finding.OPEN, (), seeds, missed)
    tests = _Tests(encodings, shown, pairs)
    use = tests.top(reliable=True)
    if use:
        return Verdict(Finding.USE, use, seeds, missed)
    return Verdict(Finding.OPEN, (), seeds, missed, tests.top(reliable=False))


class _Tests:
    """Who is above whom on the headline range."""

    def __init__(self, encodings: Sequence[str], shown: Range, pairs: Sequence[Contrast]) -> None:
        self.encodings = encodings
        self.claims = {(pair.better, pair.worse) for pair in pairs if pair.claim}
        self.by_learning = {(p.better, p.worse) for p in pairs if p.claim and p.basis is Basis.LEARNING}
        self.refuses = {cell.encoding for cell in shown.cells if cell.word is Word.OUT_OF_RANGE}
        self.goes = {c.encoding for c in shown.cells if c.words and c.words.keys() <= {Word.SOLVES, Word.PARTIAL}}
        failed = {cell.encoding: cell.failed for cell in shown.cells}
        self.failure_rate = {encoding: bad / of if of else 0.0 for encoding, (bad, of) in failed.items()}

    def top(self, *, reliable: bool) -> tuple[str, ...]:
        """The smallest group of which everyone is above everyone else, if nobody in it is above another.

        Somebody has to be tested: to go where all others cannot is a fact and no result of a test.
        """

        def above(one: str, two: str) -> bool:
            """By scores or learning, and not the other way by the other of the two; or by going there at all.

            Higher scores of the seeds that have any do not make up for failing in more seeds (`reliable`).
            """
            if (two, one) in self.claims:
                return False
            if (one, two) in self.claims:
                worse = self.failure_rate[one] > self.failure_rate[two]
                return (one, two) in self.by_learning or not (reliable and worse)
            return one in self.goes and two in self.refuses

        def tested(one: str) -> bool:
            return any((one, two) in self.claims for two in self.encodings)

        order = sorted(self.encodings, key=lambda one: -sum(above(one, two) for two in self.encodings if two != one))
        for size in range(1, len(order)):
            group, others = order[:size], order[size:]
            if any((one, two) in self.claims for one in group for two in group):
                return ()
            if all(above(one, two) for one in group for two in others):
                return tuple(one for one in self.encodings if one in group) if all(map(tested, group)) else ()
        return ()
