"""The verdict on a task: the encodings that the tests set above all others."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool

from ordinate.statistics.interval import unseen
from ordinate.statistics.looks import MARGIN
from ordinate.statistics.types import Basis, Contrast, Finding, Range, Verdict
from ordinate.statistics.words import Word

Table = Bool[np.ndarray, "one two"]


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
    use = tests.top(*Basis)
    if use:
        return Verdict(Finding.USE, use, seeds, missed)
    tops = {basis: tests.top(basis, Basis.LEARNING) for basis in (Basis.SCORES, Basis.AREA)}
    best = {basis: top for basis, top in tops.items() if tests.decides(basis, top)}
    return Verdict(Finding.OPEN, (), seeds, missed, best)


class _Tests:
    """Which encoding is above which; rows and columns of tables are the encodings in their order."""

    def __init__(self, encodings: Sequence[str], shown: Range, pairs: Sequence[Contrast]) -> None:
        self.encodings, at = encodings, {encoding: index for index, encoding in enumerate(encodings)}
        self.claims = {basis: np.zeros((len(at), len(at)), dtype=bool) for basis in Basis}
        for pair in pairs:
            if matters(pair, bounded=any(cell.bar is not None for cell in shown.cells)):
                self.claims[pair.basis][at[pair.better], at[pair.worse]] = True
        cells = sorted(shown.cells, key=lambda cell: at[cell.encoding])
        scored = [cell.interval is not None for cell in cells]
        self.cannot = np.array(
            [bool(c.seeds) and not s and Word.UNKNOWN not in c.words for c, s in zip(cells, scored, strict=True)]
        )
        above_floor = [not c.words or bool({Word.SOLVES, Word.PARTIAL} & c.words.keys()) for c in cells]
        self.goes = np.array(scored) & np.array(above_floor)

    def top(self, *bases: Basis) -> tuple[str, ...]:
        """The smallest group whose members are all above all other encodings, and none above another member.

        At least one pair must be tested: to go where all others cannot is a fact, not the result of a test.
        """
        claims = np.logical_or.reduce([self.claims[basis] for basis in bases])
        above = self._above(claims)
        order = np.argsort(-above.sum(axis=1), kind="stable")
        claims, above = claims[np.ix_(order, order)], above[np.ix_(order, order)]
        for size in range(1, len(order)):
            if claims[size - 1, :size].any() or claims[:size, size - 1].any():
                return ()
            if above[:size, size:].all():
                tested = claims[:size].any(axis=1).all()
                return tuple(self.encodings[one] for one in sorted(order[:size].tolist())) if tested else ()
        return ()

    def decides(self, basis: Basis, top: Sequence[str]) -> bool:
        """Whether an endpoint sets some of these above some of the others, and not the number of seeds alone."""
        inside = np.array([encoding in top for encoding in self.encodings])
        return bool(self.claims[basis][np.ix_(inside, ~inside)].any())

    def _above(self, claims: Table) -> Table:
        """By some endpoint and not the other way by another, or by going where the other cannot.

        An encoding that is out of range there, or that learned the task in no seed, cannot go there.
        """
        above: Table = ~claims.T & (claims | (self.goes[:, None] & self.cannot))
        np.fill_diagonal(above, False)
        return above


def matters(pair: Contrast, *, bounded: bool) -> bool:
    """Whether a claim is about a difference that is large enough for a recommendation."""
    return pair.claim and (not bounded or abs(pair.difference.mean) >= MARGIN)
