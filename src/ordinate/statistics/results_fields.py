"""The fields of a row of results: what each may hold, and what is wrong with those that hold something else."""

import math
from dataclasses import dataclass

from ordinate.core.display import escaped, printable
from ordinate.core.errors import nearest
from ordinate.statistics.large.columns import UNKNOWN
from ordinate.statistics.observations import SPLITS, Direction

REQUIRED = ("encoding", "task", "seed", "length", "split", "score")
OPTIONAL = ("chance", "n", "bar", "direction")
LARGEST = 2**53  # whole numbers that a float holds exactly
MOST_SEQUENCES = LARGEST
LARGEST_SCORE = 1e100  # whose square, and that of many together, a float still holds
LONGEST_NAME = 1_000  # letters
USUAL_BAR = 0.95


class FieldError(Exception):
    """What cannot be used in a row, in words."""


def brief(text: str, most: int = 60) -> str:
    """A text from a file inside a sentence: not too long, and nothing that a terminal obeys."""
    return escaped(text if len(text) <= most else f"{text[: most - 3]}...")


class Names(dict[str, int]):
    """Names are numbered as they come; what is around them does not count."""

    def __init__(self, column: str) -> None:
        super().__init__()
        self.column = column
        self.names: list[str] = []

    def __missing__(self, text: str) -> int:
        name = text.strip()
        if not name:
            raise FieldError(f"{self.column} is empty")
        if len(name) > LONGEST_NAME:
            raise FieldError(f"{self.column} has {len(name):,} letters, more than the {LONGEST_NAME:,} of a name")
        if not printable(name):
            raise FieldError(f"{self.column} has a character that cannot be shown: '{brief(name)}'")
        if name != text:
            number = self[name]
        else:
            number = len(self.names)
            self.names.append(name)
        self[text] = number
        return number


class _Splits(dict[str, int]):
    def __missing__(self, text: str) -> int:
        split = text.strip()
        if not split:
            raise FieldError("split is empty")
        if split not in SPLITS:
            raise FieldError(f"unknown split {brief(split, 40)!r}: {nearest(split[:40], SPLITS)}")
        return SPLITS.index(split)


SPLIT = _Splits({split: index for index, split in enumerate(SPLITS)})


def whole(column: str, text: str) -> int:
    """A seed or a length."""
    try:
        value = int(text)
    except ValueError:
        text = text.strip()
        raise FieldError(
            f"{column} must be a whole number, got {brief(text, 40)!r}" if text else f"{column} is empty"
        ) from None
    least = 1 if column == "length" else -LARGEST
    if not least <= value <= LARGEST:
        raise FieldError(f"{column} must lie in {least} to {LARGEST}, got {brief(text.strip(), 40)}")
    return value


def score(text: str) -> float:
    """A number; NaN for nothing, where an encoding could not go, and for a run that diverged."""
    try:
        value = float(text)
    except ValueError:
        if not text.strip():
            return math.nan
        raise FieldError(f"score is no number: {brief(text.strip(), 40)!r}") from None
    if -LARGEST_SCORE <= value <= LARGEST_SCORE:
        return value
    if math.isfinite(value):
        raise FieldError(f"score lies within {LARGEST_SCORE:g} of 0, got {value:g}")
    return math.nan


@dataclass(frozen=True, slots=True)
class Shared:
    """What many rows share: the optional columns."""

    chance: float
    n: int  # UNKNOWN without any
    bar: float | None  # none for a loss
    direction: Direction

    def check_task(self, other: "Shared", task: str) -> None:
        if other.bar != self.bar or other.direction != self.direction:
            raise FieldError(f"{brief(task)} has another bar or direction than above")

    def check_range(self, other: "Shared", task: str, split: str, length: int, *, scored: bool) -> None:
        """One range has one chance and one n; what has no score was taken on nothing and need not tell on how much."""
        where = f"{brief(task)}, {split.strip()} {length}"
        if other.chance != self.chance:
            raise FieldError(f"{where} has another chance than above")
        if other.n != self.n and scored:
            raise FieldError(f"{where} has another n than above: score all encodings and seeds on the same sequences")


class Sharing(dict[tuple[str, ...], Shared]):
    """The optional columns of a row, by their texts."""

    def __missing__(self, texts: tuple[str, ...]) -> Shared:
        chance, n, bar, direction = (text.strip() for text in texts)
        direction = direction or "higher"
        if direction not in ("higher", "lower"):
            raise FieldError(f"direction is higher or lower, got {brief(direction, 40)!r}")
        guessed = _number("chance", chance) or 0.0
        if direction == "higher" and not 0 <= guessed < 1:
            raise FieldError(f"chance lies between 0 and 1, got {guessed:g}")
        learned = _number("bar", bar)
        if direction == "higher":
            learned = USUAL_BAR if learned is None else learned
            if not 0 < learned <= 1:
                raise FieldError(f"bar lies above 0 and is at most 1, got {learned:g}")
        own = None if direction == "lower" else learned
        found = Shared(guessed, _count(n), own, "lower" if direction == "lower" else "higher")
        self[texts] = found
        return found


def _number(column: str, text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FieldError(f"{column} is no number: {brief(text, 40)!r}")
    if abs(value) > LARGEST_SCORE:
        raise FieldError(f"{column} lies within {LARGEST_SCORE:g} of 0, got {value:g}")
    return value


def _count(text: str) -> int:
    if not text:
        return UNKNOWN
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 1 or not value.is_integer():
        raise FieldError(f"n is no count: {brief(text, 40)!r}")
    if value > MOST_SEQUENCES:
        raise FieldError(f"n is at most {MOST_SEQUENCES} sequences, got {brief(text, 40)}")
    return int(value)
