"""The verdict on a task: the encodings that the tests set above all others."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool

from ordinate.statistics.interval import unseen
from ordinate.statistics.types import Basis, Contrast, Finding, Range, Verdict
from ordinate.statistics.words import Word


def conclude(
    encodings: Sequence[str],
    shown: Range,
    pairs: Sequence[Contrast],
    learned: Mapping[str, tuple[int, int]],
    needed: int,
) -> Verdict:
    """The verdict on a task. `learned` is empty where unknown; fewer seeds than needed allow no recommendation."""
    seeds = min((len(cell.seeds) for cell in shown.cells if cell.seeds), default=0)
    missed = unseen(seeds) if seeds else None
    if len(encodings) < 2:
        return Verdict(Finding.ALONE, (), seeds, missed)
    if any(of for _, of in learned.values()) and not any(good for good, _ in learned.values()):
        return Verdict(Finding.NOT_LEARNED, (), seeds, missed)
    if seeds < needed:
        return Verdict(Finding.OPEN, (), seeds, missed)
    tests = _Tests(encodings, shown, pairs)
    use = tests.top(reliable=True)
    if use:
        return Verdict(Finding.USE, use, seeds, missed)
    return Verdict(Finding.OPEN, (), seeds, missed, tests.top(reliable=False))


class _Tests:
    """Who is above whom on the headline range; rows and columns of tables are the encodings in their order."""

    def __init__(self, encodings: Sequence[str], shown: Range, pairs: Sequence[Contrast]) -> None:
        self.encodings, at = encodings, {encoding: index for index, encoding in enumerate(encodings)}
        self.claims, self.by_learning = np.zeros((2, len(at), len(at)), dtype=bool)
        for pair in pairs:
            if pair.claim:
                self.claims[at[pair.better], at[pair.worse]] = True
                self.by_learning[at[pair.better], at[pair.worse]] |= pair.basis is Basis.LEARNING
        cells = sorted(shown.cells, key=lambda cell: at[cell.encoding])
        self.refuses = np.array([cell.word is Word.OUT_OF_RANGE for cell in cells])
        self.goes = np.array([bool(c.words) and c.words.keys() <= {Word.SOLVES, Word.PARTIAL} for c in cells])
        self.failure_rate = np.array([cell.failed[0] / cell.failed[1] if cell.failed[1] else 0.0 for cell in cells])

    def top(self, *, reliable: bool) -> tuple[str, ...]:
        """The smallest group whose members are all above all other encodings, and none above another member.

        At least one pair must be tested: to go where all others cannot is a fact, not the result of a test.
        """
        above = self._above(reliable)
        order = np.argsort(-above.sum(axis=1), kind="stable")
        claims, above = self.claims[np.ix_(order, order)], above[np.ix_(order, order)]
        for size in range(1, len(order)):
            if claims[size - 1, :size].any() or claims[:size, size - 1].any():
                return ()
            if above[:size, size:].all():
                tested = claims[:size].any(axis=1).all()
                return tuple(self.encodings[one] for one in sorted(order[:size].tolist())) if tested else ()
        return ()

    def _above(self, reliable: bool) -> Bool[np.ndarray, "one two"]:
        """By scores or learning, and not the other way by the other of the two; or by going there at all.

        Higher scores of the seeds that have any do not make up for failing in more seeds (`reliable`).
        """
        worse = self.failure_rate[:, None] > self.failure_rate
        claimed = self.by_learning | ~worse if reliable else True
        above: Bool[np.ndarray, "one two"] = ~self.claims.T & np.where(
            self.claims, claimed, self.goes[:, None] & self.refuses
        )
        np.fill_diagonal(above, False)
        return above
