"""The outcome of all pairs of a task at a glance: who is claimed to be better than whom, and by what."""

from dataclasses import dataclass

from ordinate.statistics.phrases import called, outcome_words, p_words
from ordinate.statistics.types import Basis, Contrast, Outcome, TaskAnalysis

MOST_COMPARED = 16  # encodings of a matrix that can be read
ENDPOINTS = "where no letter stands, the test found no difference, which is no evidence that there is none."
MATRIX_NOTE = (
    "▲ better, ▼ worse than the encoding of the column: a claim by learning (L), by the score on the headline range "
    "(S) or by the area (A). A dot: tested and not told apart, which is no evidence that they are equal. Empty: "
    "nothing to test."
)
LETTERS = {Basis.LEARNING: "L", Basis.SCORES: "S", Basis.AREA: "A"}


@dataclass(frozen=True)
class PairOutcome:
    """Row against column. `better` and `worse`: the endpoints by which the row is, as letters."""

    better: str
    worse: str
    words: str  # all that was tested, with p

    @property
    def sign(self) -> str:
        """Both signs where endpoints disagree; a dot where nothing is claimed, nothing where nothing was tested."""
        signs = "▲" * bool(self.better) + "▼" * bool(self.worse)
        return signs or ("·" if self.words else "")

    @property
    def short(self) -> str:
        """`▲SA`: the sign with the endpoints that are claimed."""
        return self.sign + self.better + self.worse

    @property
    def kind(self) -> str:
        """For a page."""
        return "both" if self.better and self.worse else "better" if self.better else "worse" if self.worse else "open"


def outcomes(task: TaskAnalysis) -> dict[str, dict[str, PairOutcome]]:
    """By row and column, the best encoding first; empty where there is one encoding alone or where there are many."""
    names = task.encodings
    if not 1 < len(names) <= MOST_COMPARED:
        return {}
    tested: dict[frozenset[str], list[Contrast]] = {}
    for pair in task.pairs:
        tested.setdefault(frozenset((pair.better, pair.worse)), []).append(pair)
    return {
        row: {column: _outcome(row, tested.get(frozenset((row, column)), [])) for column in names if column != row}
        for row in names
    }


def _outcome(row: str, pairs: list[Contrast]) -> PairOutcome:
    claims = [pair for pair in pairs if pair.claim]
    better, worse = (
        "".join(LETTERS[pair.basis] for pair in claims if (pair.better == row) == side) for side in (True, False)
    )
    return PairOutcome(better, worse, "; ".join(map(_words, pairs)))


def _words(pair: Contrast) -> str:
    """`scores: t5 is better (p 0.011)`."""
    p = "" if pair.outcome in (Outcome.SAME, Outcome.FLOOR) else f" ({p_words(pair.corrected)})"
    return f"{pair.basis.value}: {outcome_words(pair)}{p}"


def outcome_lists(task: TaskAnalysis) -> list[str]:
    """The same in lines, for documents without a matrix: one for each encoding that is claimed to be better."""
    lines = []
    for row in task.encodings:
        worse: dict[str, str] = {}
        for pair in task.pairs:
            if pair.claim and pair.better == row:
                worse[pair.worse] = worse.get(pair.worse, "") + LETTERS[pair.basis]
        if worse:
            lines.append(f"{called(row)} over {', '.join(f'{called(name)} ({by})' for name, by in worse.items())}")
    return lines
