"""From what a user writes to what a run is; or one clear sentence."""

from dataclasses import fields
from typing import Any

import pytest

from ordinate import InputError, tasks
from ordinate.core.config import to_dict
from ordinate.core.parsing import parse_pairs
from ordinate.training import RunConfig, resolve

from .runs import small

BASE: dict[str, Any] = dict(task="k_back", encoding="rope")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (dict(task="k_bac"), "unknown task 'k_bac': did you mean k_back?"),
        (dict(task="k_back(kk=3)"), r"k_back has no parameter kk: did you mean k\?"),
        (dict(task="k_back+markers"), "one task at a time, got 'k_back[+]markers'"),
        (dict(task="k_back(k=0)"), "k must be at least 1, got 0"),
        (dict(task="k_back(vocabulary=1)"), "vocabulary must be at least 2 and at most 1048576, got 1"),
        (dict(task="shift_pattern(vocabulary=3)"), "shift_pattern needs a vocabulary above 3"),
        (dict(task="copy_unique(vocabulary=30)", ood_lengths=40), "copy_unique makes lengths of 1 to 30 .*, got 40"),
        (dict(task="k_back(k=40)"), "at least 41 .*: give train_lengths"),
        (
            dict(task="copy_unique(vocabulary=30)"),
            r"copy_unique makes lengths up to 30 \(of 30 different items\), but a longest training length of 20 is "
            "tested up to 60: give ood_lengths, or train on shorter ones",
        ),
        (dict(task="copy_unique", train_lengths=[1, 30]), "a longest training length of 30 is tested up to 120"),
        (dict(decay=0.3, budget="fixed"), "decay is read by schedule=wsd, but schedule is cosine"),
        (
            dict(batch=1),
            "a batch of 1 cannot mix the training lengths 8 to 32: give a batch of at least 2, or one length, as in "
            "train_lengths=32",
        ),
        (dict(batch=1, dataset=100), "a batch of 1 cannot mix the training lengths 8 to 32"),
        (
            dict(task="markers", budget="learned"),
            "markers is scored by its loss, which is never learned: leave out budget=learned",
        ),
        (dict(task="markers", schedule="wsd", budget="until"), "budget must be one of learned, fixed, got 'until'"),
        *(
            (
                dict(schedule=schedule),
                f"schedule={schedule} needs to know the last step beforehand: give budget=fixed with it",
            )
            for schedule in ("cosine", "linear", "constant")
        ),
        (dict(budget="fixd"), "budget must be one of learned, fixed, got 'fixd': did you mean fixed?"),
        (dict(stop_when_solved=True), "unknown key stop_when_solved: "),
        (dict(rules=1), "unknown key rules: "),
        (dict(encoding="learned(std=0.02)"), "learned has no parameter std: known: .*size"),
        (dict(init_std=0), "init_std must be above 0, got 0"),
        (dict(coverage_draws=3), "coverage_draws is read where evaluation draws position ids"),
        (dict(dataset=5, train_lengths=[8, 17]), "no sequence for some of the training lengths"),
        (dict(encoding="learned(rows=16)"), "position 31 is out of range: learned"),
        (dict(encoding="segment"), "segment reads the segments of tokens, which k_back does not give"),
        (dict(encoding="ropee"), "unknown encoding 'ropee': did you mean .*rope"),
        (dict(encoding="rope(bass=3)"), r"rope has no parameter bass: did you mean base\?"),
        (dict(encoding="rope_2d"), "rope_2d reads positions with 2 axes, but the model's have 1"),
        (dict(encoding=""), "encoding is empty"),
        (dict(encoding="cope", task="value_at_position"), "cope is defined for causal attention alone"),
        (dict(lrr=1), "unknown key lrr: did you mean lr?"),
        (dict(dims=1, stepps=2), "unknown key dims: did you mean dim.*; unknown key stepps: did you mean steps?"),
        (dict(model=dict(dims=1)), "unknown key dims: did you mean dim?"),
        (dict(model=7), "model must be a table of keys and values, got 7"),
        (dict(dim=32, model=dict(dim=64)), "dim was given twice, as dim and as model.dim"),
        (dict(model=dict(encoding="alibi")), "encoding was given twice"),
        (dict(vocabulary=9, causal=False), "vocabulary is decided by the task k_back; causal is decided by the task"),
        (dict(model=dict(length=9)), "length is decided by the task k_back"),
        (dict(preset="clasic"), "unknown preset 'clasic': did you mean classic?"),
        (dict(dim=30), "4 heads do not divide dim 30"),
        (dict(dropout=1), "dropout must be at least 0 and below 1"),
        (dict(train_lengths=[2, 8]), r"k_back makes lengths of at least 4 \(k is 3\), got 2"),
        (dict(train_lengths=[8, 4]), r"one length or a range \[shortest,longest\], got \[8, 4\]"),
        (dict(train_lengths=[4, 8, 12]), "one length or a range"),
        (dict(train_lengths="long"), "train_lengths must be whole numbers, got 'long'"),
        (dict(test_lengths=[64]), "test length 64 lies outside the training lengths 8 to 32"),
        (dict(test_lengths=[]), "test_lengths is empty"),
        (dict(ood_lengths=[32, 64]), "ood length 32 is not out of distribution: training goes up to length 32"),
        (dict(ood_lengths=[3]), "k_back makes lengths of at least 4"),
        (dict(steps=9, epochs=2, dataset=9), "give steps or epochs, not both: got steps=9 and epochs=2"),
        (dict(epochs=2), "k_back draws fresh sequences, which have no epochs"),
        (dict(steps=0), "steps must be a whole number of at least 1, got 0"),
        (dict(batch=True), "batch must be a whole number of at least 1, got True"),
        (dict(dataset="big"), "dataset must be a whole number of at least 1, got 'big'"),
        (dict(coverage="ofset"), "coverage must be one of plain, offset, randomized, got 'ofset'"),
        (
            dict(coverage="offset", position_limit=127),
            "position_limit must be at least 128, the longest sequence, got 127",
        ),
        (dict(position_limit=64), "position_limit is read by coverage=offset .* but coverage is plain"),
        (dict(schedule="wds"), "schedule must be one of .* got 'wds': did you mean wsd?"),
        (dict(schedule="wds", budget="fixed"), "schedule must be one of .* got 'wds': did you mean wsd?"),
        (dict(warmup=0.5), "warmup must be a whole number, got 0.5"),
        (
            dict(steps=100, warmup=50, decay=0.6),
            "a warm-up of 50 steps does not fit into 100 steps with their decay",
        ),
        (dict(steps=100, warmup=101, budget="fixed"), "a warm-up of 101 steps does not fit into 100 steps"),
        (dict(lr=-1, warmup=-3), "lr must be at least 1e-12, got -1; warmup must be at least 0, got -3"),
        (dict(decay=1.5), "decay must lie in 0 to 1, got 1.5"),
        (dict(lr=float("nan")), "lr must be finite, got nan"),
        (dict(betas=[0.9]), r"betas must be two numbers from 0 to below 1, got \[0.9\]"),
        (dict(betas=[0.9, 1.0]), "betas must be two numbers"),
        (dict(evaluation_sequences=0), "evaluation_sequences must be at least 1, got 0"),
        (dict(seed=1.5), "seed must be a whole number, got 1.5"),
        (dict(device="gpu"), "unknown device 'gpu'"),
        (dict(device=5), "unknown device '5'"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        resolve(BASE | settings)
    assert "\n" not in str(caught.value)


def test_a_task_and_an_encoding_are_needed() -> None:
    with pytest.raises(InputError, match="a run needs a task and an encoding, got task"):
        resolve(dict(task="k_back"))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (dict(task="k_back(k=5,mode=match)"), dict(task=" k_back( mode = match , k = 5 )")),
        (dict(task="k_back"), dict(task="k_back(k=3,mode=recall)")),
        (dict(task="k_back(k=[1,2])"), dict(task="k_back(k=[1, 2])")),
        (dict(encoding="rope"), dict(encoding="rope()")),
        (dict(encoding="rope"), dict(encoding="rope(base=10000.0)")),
        (dict(encoding="rope(base=5e5)"), dict(encoding="rope( base=500_000 )")),
        (dict(encoding="alibi+rope(base=9)"), dict(encoding="alibi + rope(base=9.0)")),
        (dict(encoding=("rope", "none")), dict(encoding=["rope()", "none"])),
        (dict(lr=1, dim=32), dict(model=dict(dim=32), lr=1.0)),
        (dict(dim=64, dropout=0, budget="learned", schedule="wsd", warmup=50.0, decay=0.2), {}),
        (dict(budget="fixed", schedule="cosine"), dict(budget="fixed")),
        (dict(init_std=None, embedding_std=None), {}),
        (dict(train_lengths=32), dict(train_lengths=[32, 32])),
        (dict(test_lengths=[32, 8]), dict(test_lengths=(8, 32, 32))),
        (dict(ood_lengths=[40, 48, 64, 96, 128]), {}),
        (dict(dataset=128, batch=64, epochs=3, train_lengths=8), dict(dataset=128, steps=6, train_lengths=8)),
        (dict(preset="classic", steps=tasks.create("k_back").most_steps), {}),
        (dict(device="auto"), {}),
        (parse_pairs(["model.dim=32", "betas=[0.9,0.95]", "clip=1"]), dict(betas=[0.9, 0.95], dim=32, clip=1.0)),
    ],
)
def test_one_content_has_one_id(one: dict[str, Any], two: dict[str, Any]) -> None:
    first, second = resolve(BASE | one), resolve(dict(reversed((BASE | two).items())))
    assert first == second and first.id == second.id
    again = resolve(BASE | one | dict(task=first.task, encoding=first.model.encoding))
    assert again == first  # a resolved name says all that was said


CHANGES: dict[str, Any] = dict(
    task="k_back(k=4)", model=dict(dim=32), steps=2001, train_lengths=[8, 31], test_lengths=[31, 32], ood_lengths=[65],
    dataset=100, seed=1, batch=65, optimizer="adam", lr=2e-3, betas=[0.9, 0.99], weight_decay=0.0, budget="fixed",
    warmup=0, decay=0.3, clip=0.0, coverage="offset", evaluation_sequences=999, threads=2, device="cpu:0",
)  # fmt: skip


def test_any_change_gives_another_id() -> None:
    pairs = [dict(budget="fixed", schedule=schedule) for schedule in ("linear", "constant", "wsd")]
    pairs += [dict(coverage="offset", position_limit=199), dict(budget="fixed", schedule="wsd", decay=0.1)]
    pairs += [dict(coverage="randomized"), dict(coverage="randomized", coverage_draws=6)]
    pairs += [dict(coverage="randomized", test_coverage="plain"), dict(test_coverage="offset")]
    changed = CHANGES.keys() | {key for pair in pairs for key in pair}
    assert changed == {field.name for field in fields(RunConfig)}
    inner = [dict(encoding=e) for e in ("alibi", "rope(base=9)", ("rope", "none"), "alibi+rope")] + [dict(bias=False)]
    settings = [BASE, *({key: value} for key, value in CHANGES.items()), *inner, *pairs]
    found = [resolve(BASE | change).id for change in settings]
    assert len(set(found)) == len(found)


def test_the_task_decides_what_it_knows() -> None:
    config = resolve(dict(task="value_at_position", encoding="learned"))
    model, task = config.model, config.make_task()
    assert (model.vocabulary, model.classes, model.causal, model.readout) == (20, 3, False, "mean")
    assert config.train_lengths == task.train_lengths == (32, 32) and model.length == 32
    assert config.dataset == 5000 and config.steps == 20 * 79  # 79 batches of 64
    assert config.test_lengths == (32,) and config.ood_lengths == (40, 48, 64, 96, 128)
    grid = resolve(dict(task="image_pattern", encoding="rope_2d"))
    assert grid.model.axes == 2 and grid.model.length == max(grid.make_task().sides(max(grid.train_lengths)))


def test_drawn_coverage_trains_every_id_below_its_limit() -> None:
    config = resolve(BASE | dict(coverage="randomized"))
    assert config.position_limit == config.model.length == 128
    assert resolve(BASE | dict(coverage="offset", position_limit=200)).model.length == 200


@pytest.mark.parametrize(
    ("settings", "warmup"), [({}, 50), (dict(steps=500), 50), (dict(steps=499), 49), (dict(steps=9), 0)]
)
def test_the_warm_up_is_fifty_steps_and_at_most_a_tenth(settings: dict[str, Any], warmup: int) -> None:
    assert resolve(BASE | settings).warmup == warmup
    assert resolve(BASE | settings | dict(budget="fixed")).warmup == warmup


def test_tasks_are_trained_until_learned_and_losses_for_a_fixed_budget() -> None:
    until, exactly = resolve(BASE), resolve(BASE | dict(budget="fixed"))
    assert (until.budget, until.schedule, until.steps) == ("learned", "wsd", tasks.create("k_back").most_steps)
    assert (exactly.budget, exactly.schedule, exactly.steps) == ("fixed", "cosine", until.steps)
    loss = resolve(dict(task="markers", encoding="rope"))
    assert (loss.budget, loss.schedule, loss.ood_lengths) == ("fixed", "cosine", ())


@pytest.mark.parametrize("name", tasks.names())
def test_every_task_resolves_at_its_defaults(name: str) -> None:
    task = tasks.create(name)
    config = resolve(dict(task=name, encoding="rope_2d" if task.axes == 2 else "rope"))
    assert config.model.dim == 64
    assert config.model.dropout == (0.0 if config.dataset is None else 0.1)
    assert config.train_lengths == task.train_lengths and config.test_lengths == task.train_lengths[1:]
    assert config.ood_lengths == task.beyond(task.train_lengths[1])
    assert config.budget == ("fixed" if task.metric == "loss" else "learned")


def test_dropout_guards_what_is_seen_again() -> None:
    assert resolve(BASE).model.dropout == 0.0 and resolve(BASE | dict(dataset=100)).model.dropout == 0.1
    assert resolve(BASE | dict(dropout=0.2)).model.dropout == 0.2
    assert resolve(BASE | dict(dataset=100, dropout=0)).model.dropout == 0.0


def test_one_sequence_a_step_is_fine_at_one_length() -> None:
    assert resolve(BASE | dict(batch=1, train_lengths=32)).batch == 1


def test_it_is_plain_data() -> None:
    config = to_dict(resolve(BASE | dict(dim=64)))
    assert config["model"]["dim"] == 64 and config["task"] == "k_back"


def test_another_seed_and_rate_is_the_run_that_would_be_resolved() -> None:
    base = small(seed=1, lr=0.01)
    assert base.again(7, 0.003) == small(seed=7, lr=0.003) and base.again(7, 0.003).id == small(seed=7, lr=0.003).id
    assert base.id == small(seed=1, lr=0.01).id != base.again(7, 0.003).id
