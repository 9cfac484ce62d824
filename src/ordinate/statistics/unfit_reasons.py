"""Words of a table that say why seeds did not fit: the course of training shows it, scores alone do not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ordinate.statistics.learning import Steps
from ordinate.statistics.types import Cell, Range
from ordinate.statistics.words import Word


def with_unfit_reasons(ranges: Sequence[Range], steps: Mapping[str, Steps]) -> tuple[Range, ...]:
    """The ranges with words that say why seeds did not fit, where that is known."""
    known = {name: {end.seed: end.word for end in own.ends} for name, own in steps.items()}
    return tuple(
        replace(r, cells=tuple(_with_reasons(cell, known.get(cell.encoding, {})) for cell in r.cells)) for r in ranges
    )


def _with_reasons(cell: Cell, known: Mapping[int, Word]) -> Cell:
    unfit = cell.words.get(Word.DID_NOT_FIT, 0)
    why = Counter(known[seed] for seed in cell.seeds if known.get(seed) in (Word.STILL_RISING, Word.LOST_AGAIN))
    if not why or why.total() > unfit:  # more than did not fit here: some of them have another word
        return cell
    words = dict(cell.words) | why | {Word.DID_NOT_FIT: unfit - why.total()}
    return replace(cell, words={word: n for word, n in words.items() if n})
