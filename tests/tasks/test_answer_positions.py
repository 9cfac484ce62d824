"""Where tasks say that answers are read from."""

from typing import Any

import pytest

from ordinate import tasks
from ordinate.core.seeds import generator
from ordinate.core.task import UNSCORED, Task

# A task need not say it: in `markers` and `value_at_position` answers have no one place.
SAYING = [name for name in tasks.names() if tasks.registry.get(name).answer_positions is not Task.answer_positions]
CASES = [(name, parameters) for name in SAYING for parameters in [{}, *tasks.registry.get(name).variants]]
every_case = pytest.mark.parametrize(("name", "parameters"), CASES, ids=[f"{n}-{p}" if p else n for n, p in CASES])


@every_case
@pytest.mark.parametrize("split", ["id", "shift"])
def test_answers_follow_from_what_stands_there(name: str, parameters: dict[str, Any], split: str) -> None:
    """The same token before the same tokens at these positions has the same answer, in all problems."""
    task = tasks.create(name, **parameters)
    if split not in task.splits:
        return
    length = max(task.train_lengths[0], task.shortest)
    batch = task.sample(300, length, generator(5, "positions"), split)
    known: dict[tuple[int, ...], int] = {}
    queries = 0
    for tokens, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        positions = task.answer_positions(tokens)
        assert len(positions) == len(tokens)
        # one answer per sequence is read at one token
        answers = targets if isinstance(targets, list) else [UNSCORED] * (len(tokens) - 1) + [targets]
        for t, (own, answer) in enumerate(zip(positions, answers, strict=True)):
            assert all(0 <= place < len(tokens) and place != t for place in own)
            assert task.form == "bidirectional" or all(place < t for place in own)
            if answer != UNSCORED:
                distance = [t - own[-1]] if parameters.get("mode") == "pairs" and own else []  # is what is asked for
                key = (tokens[t], *(tokens[place] for place in own), *distance)
                assert known.setdefault(key, answer) == answer
                queries += 1
    # some occurred several times, so that the test could have failed
    assert len(known) < queries
