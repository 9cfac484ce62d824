"""Training until a task is learned: two checks in a row at the bar, then as long again while the rate decays."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ordinate import tasks
from ordinate.store import Store
from ordinate.training import Progress, optimizer, resolve, train, trainer
from ordinate.training.evaluate import evaluate
from ordinate.training.optimizer import ending, task_schedule

from .runs import outcome, small, words
from .test_resume import stopped

OWN = trainer.check_every  # tests put another in its place
EVERY, STEPS = 5, 60  # checks, and the largest budget; its last fifth begins at 48
EASY = dict(task="binary_majority", train_lengths=[3, 5], ood_lengths=[7], dropout=0.1)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer, "LEAST", 10)
    monkeypatch.setattr(trainer, "check_every", lambda config, task: EVERY)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes the checks of these steps find the bar reached, and all others not; results are scored as ever."""

    def script(*reached: int) -> None:
        steps = iter(range(EVERY, 10**6, EVERY))

        def scored(
            model: Any, task: Any, config: Any, chosen: Any, draws: int | None = None
        ) -> dict[str, float] | None:
            if draws is None:
                return evaluate(model, task, config, chosen)
            assert chosen.split == "valid" and not model.training
            score = task.bar if next(steps) in reached else task.bar - 1e-6
            return dict(loss=1.0, accuracy=score, exact=score)

        monkeypatch.setattr(trainer, "evaluate", scored)

    return script


def course(folder: Path, **settings: Any) -> tuple[dict[str, Any], list[Progress], list[float]]:
    """The result of a run, what its watcher saw, and the rate of every step."""
    seen: list[Progress] = []
    run = train(small(**dict(steps=STEPS, batch=4, evaluation_sequences=20) | settings), Store(folder), seen.append)
    rates = [r["value"] for r in run.journal.read() if (r["split"], r["metric"]) == ("train", "lr")]
    return run.result, seen, rates


@pytest.mark.parametrize(
    ("reached", "at", "learned", "end"),
    [
        ((), None, None, 60),
        ((5,), None, None, 60),
        ((5, 15, 25, 35, 45, 55), None, None, 60),  # never two in a row
        ((60,), None, None, 60),  # the last one alone
        ((5, 10), 5, 10, 20),
        ((5, 15, 20), 15, 20, 40),
        ((10, 15, 20, 25), 10, 15, 30),  # counted once
        ((25, 30), 25, 30, 60),
        ((30, 35), 30, 35, 60),  # as long again would be more than the budget
        ((50, 55), 50, 55, 60),  # inside the last fifth
        ((55, 60), 55, 60, 60),
    ],
)
def test_two_checks_in_a_row(
    reached: tuple[int, ...],
    at: int | None,
    learned: int | None,
    end: int,
    scripted: Callable[..., None],
    tmp_path: Path,
) -> None:
    scripted(*reached)
    result, seen, rates = course(tmp_path)
    config = small(steps=STEPS)
    assert (result.learned_at, result.steps, result.status) == (at, end, "finished")
    assert ending(config, learned)[1] == end
    assert rates == [
        task_schedule(config, learned if learned is not None and s >= learned else None).rate(s) for s in range(end)
    ]
    assert rates == [task_schedule(config, learned).rate(s) for s in range(end)]
    told = {p.step: (p.learned, p.steps) for p in seen if not p.evaluating}
    for step, (known, last) in told.items():
        assert known is (learned is not None and step >= learned)
        assert last == (end if known else STEPS)


def test_what_is_learned_stays_learned(scripted: Callable[..., None], tmp_path: Path) -> None:
    """Checks that fall below the bar in the decay, or rise to it once more, change nothing."""
    scripted(10, 15, 25, 30)
    result, _, _ = course(tmp_path)
    assert (result.learned_at, result.steps) == (10, 30)


def test_a_fixed_budget_runs_to_its_end(scripted: Callable[..., None], tmp_path: Path) -> None:
    scripted(10, 15)
    result, seen, rates = course(tmp_path, budget="fixed")
    assert (result.learned_at, result.steps, len(rates)) == (10, STEPS, STEPS)
    assert rates == [task_schedule(small(steps=STEPS, budget="fixed")).rate(step) for step in range(STEPS)]
    assert {p.steps for p in seen} == {STEPS}


def test_a_loss_is_never_learned(scripted: Callable[..., None], tmp_path: Path) -> None:
    scripted(*range(5, 60, 5))
    result, seen, _ = course(tmp_path, task="markers", train_lengths=32, ood_lengths=[], dataset=None, steps=15)
    assert (result.learned_at, result.steps) == (None, 15) and not any(p.learned for p in seen)


def test_the_bar_of_the_task_is_asked_and_its_metric(scripted: Callable[..., None], tmp_path: Path) -> None:
    scripted(5, 10)
    result, _, _ = course(tmp_path, task="copy_unique(vocabulary=6)", train_lengths=[1, 3], ood_lengths=[4])
    assert result.metric == "exact" and (result.learned_at, result.steps) == (5, 20)


def test_a_check_leaves_the_training_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights after the same steps are the same however often it was checked."""
    weights = []
    for every in (1, 7, 1000):
        monkeypatch.setattr(trainer, "check_every", lambda config, task, every=every: every)
        run = train(small(steps=20, dropout=0.2), Store(tmp_path / str(every)))
        weights.append((run.folder / "model.safetensors").read_bytes())
    assert weights[0] == weights[1] == weights[2]


def test_a_task_that_is_learned_ends_before_its_budget(tmp_path: Path) -> None:
    settings = dict(steps=300, batch=32, dim=32, lr=0.01, evaluation_sequences=256)
    result = train(small(**EASY | settings), Store(tmp_path)).result
    at, end = result.learned_at, result.steps
    curve = {r.step: r.value for r in result.records if (r.split, r.metric) == ("valid", "accuracy")}
    assert at is not None and at < end < 300
    assert curve[at] >= 0.95 and curve[at + EVERY] >= 0.95 and (at == EVERY or curve[at - EVERY] < 0.95)
    assert end == ending(small(**EASY | settings), at + EVERY)[1]
    assert words(result)[1] == "solves" and max(curve) == end


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A run that learned its task in its own time, and was never disturbed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizer, "LEAST", 10)
        patch.setattr(trainer, "check_every", lambda config, task: EVERY)
        yield outcome(train(small(**RESUMED), Store(tmp_path_factory.mktemp("whole"))))


RESUMED = EASY | dict(steps=100, batch=32, dim=32, evaluation_sequences=100)


@pytest.mark.parametrize(
    "moment",
    ["before the first check", "at the first", "between", "at the second", "after the second", "in the decay", "last"],
)
def test_stopped_anywhere_on_the_way_it_ends_the_same(moment: str, whole: dict[str, Any], tmp_path: Path) -> None:
    at, end = whole["result"]["learned_at"], whole["result"]["steps"]
    second = at + EVERY
    assert end == ending(small(**RESUMED), second)[1] < 100
    step = {
        "before the first check": at - 1, "at the first": at, "between": at + 2, "at the second": second,
        "after the second": second + 1, "in the decay": (second + end) // 2, "last": end,
    }[moment]  # fmt: skip
    config, store = small(**RESUMED), Store(tmp_path)
    stopped(config, store, step)
    assert outcome(train(config, store)) == whole


def test_stopped_in_every_step_it_ends_the_same(whole: dict[str, Any], tmp_path: Path) -> None:
    config, store = small(**RESUMED), Store(tmp_path)
    for step in range(2, whole["result"]["steps"] + 1, 2):
        stopped(config, store, step)
    assert outcome(train(config, store)) == whole


@pytest.mark.parametrize("name", tasks.names())
@pytest.mark.parametrize(
    "settings", [{}, dict(batch=16), dict(batch=2), dict(steps=20_000), dict(evaluation_sequences=50)]
)
def test_checks_take_a_small_share_of_the_training(name: str, settings: dict[str, Any]) -> None:
    """By the accounting of tokens: forward once for a check, forward and twice that back for a step."""
    config = resolve(dict(task=name, encoding="rope_2d" if tasks.create(name).axes == 2 else "rope") | settings)
    task = config.make_task()
    every = OWN(config, task)
    checks = config.steps // every
    checked = task.width(config.test_lengths[-1]) * min(256, config.evaluation_sequences)
    trained = 3 * config.batch * sum(task.width(n) for n in config.train_lengths) / 2
    assert checks * checked < 0.05 * config.steps * trained
    assert checks <= 40
    if not settings:
        assert checks >= 10  # and yet a curve can be seen
