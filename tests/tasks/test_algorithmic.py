"""Algorithmic problems as text: right answers, ranges as they are stated."""

import random

import pytest

from ordinate.tasks.algorithmic import KINDS, PROBLEMS, ProblemKind, draw_line


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beyond", [False, True])
def test_answers_follow_from_questions_and_sizes_lie_in_their_range(kind: ProblemKind, beyond: bool) -> None:
    source = random.Random(0)
    for _ in range(50):
        problem = draw_line(kind, source, 200, beyond=beyond)
        asked, answer = problem.question.split(), problem.answer.split()
        low, high = PROBLEMS[kind].symbols[beyond]
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
def test_distances_span_the_stated_part_of_the_context(kind: ProblemKind) -> None:
    source = random.Random(1)
    for beyond, low, high in ((False, 0.15, 1.0), (True, 1.3, 2.0)):
        lengths = [len(draw_line(kind, source, 1000, beyond=beyond).text.split()) / 1000 for _ in range(100)]
        assert low < min(lengths) and max(lengths) <= high
        assert max(lengths) - min(lengths) > 0.3 * (high - low)
