"""The one range of a task on which encodings are tested against each other, known before anything runs."""

from collections.abc import Sequence

from ordinate.statistics.observation import RangeKey


def trained_length(places: Sequence[RangeKey]) -> int | None:
    """The longest length in distribution; reach is counted in multiples of it."""
    return max((length for split, length in places if split == "id"), default=None)


def headline(places: Sequence[RangeKey]) -> RangeKey:
    """Twice the trained length, or the shortest beyond that, else the longest longer one.

    Where nothing longer is tested: a shifted range, else the longest in distribution.
    """
    longer = sorted(length for split, length in places if split == "ood")
    trained = trained_length(places)
    if longer:
        far = [length for length in longer if trained is None or length >= 2 * trained]
        return "ood", far[0] if far else longer[-1]
    shifted = [length for split, length in places if split == "shift"]
    if shifted:
        return "shift", max(shifted)
    inside = [length for split, length in places if split == "id"]
    return ("id", max(inside)) if inside else max(places, key=lambda place: place[1])
