"""What every task must keep, over the registry: a new task is tested by being there."""

from typing import Any, Literal, get_args, get_origin

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ordinate import tasks
from ordinate.core.errors import InputError
from ordinate.core.parameters import Parameter
from ordinate.core.seeds import generator
from ordinate.core.task import UNSCORED, Task
from ordinate.statistics.distributions import band
from ordinate.training.baselines import Baselines, baselines, score

CASES = [(name, parameters) for name in tasks.names() for parameters in [{}, *tasks.registry.get(name).variants]]

every_name = pytest.mark.parametrize("name", tasks.names())
every_case = pytest.mark.parametrize(("name", "parameters"), CASES, ids=[f"{n}-{p}" if p else n for n, p in CASES])


def values(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Values that a parameter may take, from its declaration."""
    members = (
        [parameter.type] if get_origin(parameter.type) is Literal else get_args(parameter.type) or [parameter.type]
    )
    low = -3 if parameter.low is None else int(parameter.low)
    usual = parameter.default if isinstance(parameter.default, int) else low + 8
    number = st.integers(low, min(2 * max(usual, 2), int(parameter.high or 10**6)))
    kinds = []
    for member in members:
        if get_origin(member) is Literal:
            kinds.append(st.sampled_from(get_args(member)))
        elif get_origin(member) is tuple:
            kinds.append(st.lists(number, min_size=1, max_size=4, unique=True).map(tuple))
        else:
            kinds.append({bool: st.booleans(), int: number, type(None): st.none()}[member])
    return st.one_of(kinds)


def requests(name: str) -> st.SearchStrategy[Any]:
    """Parameters of a task, steps past its shortest length, which of its splits, and a seed."""
    known = tasks.registry.parameters(name)
    parameters = st.fixed_dictionaries({key: values(parameter) for key, parameter in known.items()})
    return st.tuples(parameters, st.integers(0, 30), st.integers(0, 1), st.integers(0, 2**32))


def asked(name: str, request: Any) -> tuple[Task, int, torch.Generator, str]:
    """What a request stands for; parameters that exclude each other are left out."""
    parameters, more, split, seed = request
    try:
        task = tasks.create(name, **parameters)
    except InputError:
        assume(False)
    return (
        task,
        min(task.shortest + more, task.longest or 10**6),
        generator(seed),
        task.splits[split % len(task.splits)],
    )


QUIETLY = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def as_lists(targets: torch.Tensor) -> list[list[int]]:
    """One list of targets per sequence."""
    return targets.view(len(targets), -1).tolist()


@every_name
def test_problems_are_well_formed_and_the_solver_agrees(name: str) -> None:
    @QUIETLY
    @given(requests(name))
    def holds(request: Any) -> None:
        task, length, stream, split = asked(name, request)
        batch = task.sample(12, length, stream, split)
        assert batch.tokens.shape == (12, task.width(length))
        assert batch.targets.shape == (batch.tokens.shape if task.readout == "tokens" else (12,))
        assert batch.tokens.dtype == batch.targets.dtype == torch.int64
        assert batch.tokens.min() >= 0
        assert batch.tokens.max() < task.vocabulary
        scored = batch.targets[batch.targets != UNSCORED]
        assert scored.min() >= 0
        assert scored.max() < task.classes
        assert len(task.sides(length)) == task.axes
        if batch.positions is not None:
            assert batch.positions.shape == (1, batch.tokens.shape[1], task.axes)
        for tokens, targets in zip(batch.tokens.tolist(), as_lists(batch.targets), strict=True):
            assert task.solve(tokens) == targets

    holds()


@every_name
def test_a_batch_follows_from_the_generator_alone(name: str) -> None:
    @QUIETLY
    @given(requests(name))
    def holds(request: Any) -> None:
        before = torch.get_rng_state()
        batches = []
        for _ in range(2):
            task, length, stream, split = asked(name, request)
            batches.append(task.sample(8, length, stream, split))
        one, two = batches
        assert torch.equal(one.tokens, two.tokens)
        assert torch.equal(one.targets, two.targets)
        assert torch.equal(before, torch.get_rng_state())

    holds()


@every_case
def test_the_next_batch_is_another_one(name: str, parameters: dict[str, Any]) -> None:
    task, stream = tasks.create(name, **parameters), generator(0)
    one, two = (task.sample(64, task.train_lengths[1], stream).tokens for _ in range(2))
    assert not torch.equal(one, two)


@every_case
def test_chance_is_what_a_constant_answer_scores(name: str, parameters: dict[str, Any]) -> None:
    task, found = measured(name, parameters)
    length = task.train_lengths[1]
    if task.metric == "loss":
        batch = task.sample(50, length, generator(0))
        uniform = torch.zeros(*batch.targets.shape, task.classes)
        assert score(task, uniform, batch) == pytest.approx(task.chance(length), rel=1e-5)
    else:
        low, high = band(task.chance(length), 5000, level=0.999)
        assert low <= found.majority <= high


@every_case
def test_counting_tokens_does_not_solve_what_needs_order(name: str, parameters: dict[str, Any]) -> None:
    task, found = measured(name, parameters)
    if task.needs_order and task.metric != "loss":
        assert found.floor < 0.9 * task.bar


MEASURED: dict[str, tuple[Task, Baselines]] = {}


def measured(name: str, parameters: dict[str, Any]) -> tuple[Task, Baselines]:
    """A case with its baselines at its longest trained length, measured once."""
    key = f"{name}{parameters}"
    if key not in MEASURED:
        torch.set_num_threads(1)
        task = tasks.create(name, **parameters)
        MEASURED[key] = task, baselines(task, task.train_lengths[1])
    return MEASURED[key]


@every_case
def test_declarations_hold_together(name: str, parameters: dict[str, Any]) -> None:
    task = tasks.create(name, **parameters)
    assert task.name == name
    assert task.family in {"position", "distance", "matching", "counting", "copying"}
    assert task.direction == ("lower" if task.metric == "loss" else "higher")
    longer = task.beyond(task.train_lengths[1])
    assert task.train_lengths[0] <= task.train_lengths[1] < min(longer, default=10**6)
    assert longer == tuple(sorted(set(longer)))
    for length in (*task.train_lengths, *longer):
        task.check_length(length)
    assert task.most_steps >= 1 and 0 < task.bar <= 1
    assert not task.control or task.control.strip() == task.control
    batch = task.sample(20, task.train_lengths[1], generator(0))
    groups = task.groups(batch.tokens, batch.targets)
    assert all(mask.shape == batch.targets.shape and mask.any() for mask in groups.values())
    union = torch.stack(list(groups.values())).any(dim=0)
    assert torch.equal(union, batch.targets != UNSCORED)
    assert all(parameter.help for parameter in tasks.registry.parameters(name).values())


@every_name
def test_other_lengths_are_tested_at_multiples(name: str) -> None:
    """Lengths that a task declares belong to its own training lengths; other training lengths have multiples tested."""
    task = tasks.create(name)
    longest = task.train_lengths[1]
    own, other = (tuple(round(m * trained) for m in (1.25, 1.5, 2, 3, 4)) for trained in (longest, longest + 8))
    assert task.beyond(longest + 8) == (() if task.longer == () else other)
    assert task.beyond(longest) == (task.longer if task.longer is not None else own)


def test_the_default_lengths() -> None:
    assert tasks.create("k_back").train_lengths == (8, 32)
    assert tasks.create("k_back").beyond(32) == (40, 48, 64, 96, 128)


@pytest.mark.parametrize("trained", [1, 2, 3, 4, 5])
def test_tested_lengths_are_longer_than_short_ones_and_each_stands_once(trained: int) -> None:
    longer = tasks.create("modular_sum").beyond(trained)
    assert longer == tuple(sorted(set(longer))) and all(length > trained for length in longer)


@every_case
def test_the_example_can_be_read(name: str, parameters: dict[str, Any]) -> None:
    task = tasks.create(name, **parameters)
    tokens = task.example()
    targets = task.solve(tokens)
    assert len(tokens) <= 21
    assert any(target != UNSCORED for target in targets)
    assert all(0 <= token < task.vocabulary for token in tokens)
    assert "->" in task.show(tokens, targets)


@every_case
def test_bad_requests_are_told_in_one_sentence(name: str, parameters: dict[str, Any]) -> None:
    task = tasks.create(name, **parameters)
    wrong = [task.shortest - 1, -5] + ([] if task.longest is None else [task.longest + 1])
    for length in wrong:
        with pytest.raises(InputError, match=rf"^{name} makes lengths of .*, got {length}$"):
            task.sample(4, length, generator(0))
    with pytest.raises(InputError, match="at least 1"):
        task.sample(0, task.shortest, generator(0))
    with pytest.raises(InputError, match=r"no split 'shfit'.*(shift|id)"):
        task.sample(4, task.shortest, generator(0), "shfit")


@every_name
def test_parameters_below_their_range_are_refused(name: str) -> None:
    for key, parameter in tasks.registry.parameters(name).items():
        if parameter.low is not None:
            with pytest.raises(InputError, match=rf"{name} parameter {key} must be at least {parameter.low:g}"):
                tasks.create(name, **{key: int(parameter.low) - 1})


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown task 'kback': did you mean k_back"):
        tasks.create("kback")
    with pytest.raises(InputError, match="k_back has no parameter vocab: did you mean vocabulary"):
        tasks.create("k_back", vocab=3)
