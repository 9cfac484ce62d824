"""Algorithmic problems: right answers, ranges as they are stated."""

import random

import pytest

from ordinate.lm.problems import KINDS, draw


def _symbols(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["in", "out"])
def test_answers_follow_from_questions_and_sizes_lie_in_their_range(kind: str, where: str) -> None:
    source = random.Random(0)
    for _ in range(50):
        problem = draw(kind, source, 200, where)  # type: ignore[arg-type]
        asked, answer = _symbols(problem.question), _symbols(problem.answer)
        low, high = KINDS[kind].symbols[where]  # type: ignore[index]
        assert low <= len(answer) <= high
        given = asked[1 : 1 + len(answer)]
        match kind:
            case "reverse":
                assert answer == given[::-1]
            case "sort":
                assert answer == sorted(given)
            case "add":
                other = asked[2 + len(answer) : -1]
                assert answer == [str(int(a) + int(b)) for a, b in zip(given, other, strict=True)]
                assert all(len(digit) == 1 for digit in answer)
            case _:
                assert answer == given


@pytest.mark.parametrize("kind", ["passkey", "distant_copy"])
def test_distances_span_the_stated_part_of_the_context(kind: str) -> None:
    source = random.Random(1)
    for where, low, high in (("in", 0.15, 1.0), ("out", 1.3, 2.0)):
        lengths = [len(_symbols(draw(kind, source, 1000, where).text)) / 1000 for _ in range(100)]  # type: ignore[arg-type]
        assert low < min(lengths) and max(lengths) <= high
        assert max(lengths) - min(lengths) > 0.3 * (high - low)
