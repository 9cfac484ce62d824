"""The configuration of a run: everything that its result depends on, resolved before it starts."""

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import torch

from ordinate import encodings, tasks
from ordinate.core.config import build, digest, settle
from ordinate.core.coverage import Coverage
from ordinate.core.errors import InputError, error_text, nearest
from ordinate.core.memory import require_memory
from ordinate.core.parsing import parse_choice
from ordinate.core.task import Task
from ordinate.model import PRESETS, ModelConfig, Transformer, pick_device
from ordinate.training.config_limits import STATE, check_memory, check_numbers, refuse, too_small, wrong_betas

Adam = Literal["adamw", "adam"]
# Settings of the model that follow from the task and cannot be given.
FROM_TASK = (
    "vocabulary", "classes", "causal", "axes", "readout", "length", "tied", "document_positions", "document_mask",
)  # fmt: skip
DIM = 64  # ranks encodings as 128 does, in a third of the time


@dataclass(frozen=True)
class RunConfig:
    """A small model, trained until it has learned its task, within a largest budget."""

    task: str
    model: ModelConfig
    steps: int  # at most; with budget=fixed exactly
    train_lengths: tuple[int, ...]  # shortest and longest; each sequence draws its own length between them
    test_lengths: tuple[int, ...]  # in distribution
    ood_lengths: tuple[int, ...]  # longer than any in training
    budget: Literal["learned", "fixed"] = "learned"  # learned: until it is, then as long again while the rate decays
    dataset: int | None = None  # so many fixed sequences, seen again in every epoch; none: fresh ones in every step
    seed: int = 1337
    batch: int = 64
    optimizer: Adam = "adamw"
    lr: float = 3e-3
    betas: tuple[float, ...] = (0.9, 0.95)
    weight_decay: float = 0.01  # on matrices of the network; never on norms, biases or what an encoding trains
    schedule: Literal["cosine", "linear", "constant", "wsd"] = "wsd"
    warmup: int = 50  # steps
    decay: float = 0.2  # share of the steps, at the end; for wsd
    clip: float = 1.0  # largest norm of a gradient; 0: none
    coverage: Coverage = "plain"
    # the position ids of evaluation; usual: randomized if training is, otherwise plain
    test_coverage: Literal["usual", "plain", "offset", "randomized"] = "usual"
    position_limit: int = 0  # offset, randomized: ids are drawn below this
    coverage_draws: int = 5  # drawn ids: evaluations that are averaged
    evaluation_sequences: int = 1000
    threads: int = 1  # sums in another order differ in their last bits, so this is part of what a run is
    device: str = "cpu"  # `auto` is resolved before

    def __post_init__(self) -> None:
        refuse(settle(self))

    @property
    def tested(self) -> Coverage:
        """The coverage under which a run is evaluated."""
        if self.test_coverage != "usual":
            return self.test_coverage
        return "randomized" if self.coverage == "randomized" else "plain"

    @cached_property
    def id(self) -> str:
        """The name of the run in a store."""
        return digest(self)

    def again(self, seed: int, lr: float, steps: int | None = None) -> "RunConfig":
        """The same run with another seed, rate and largest budget. Checked already: ten thousand take a moment."""
        other = copy(self)
        other.__dict__.pop("id", None)
        changes: dict[str, Any] = {"seed": seed, "lr": lr}
        if steps is not None and steps != self.steps:
            changes |= {"steps": steps, "warmup": min(self.warmup, max(1, steps // 10))}
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    def make_task(self) -> Task:
        return tasks.parse(self.task)[1]


def resolve(settings: Mapping[str, Any], *, try_model: bool = True) -> RunConfig:
    """A whole configuration from a user's settings. `model.dim` may be written `dim`; all problems come at once.

    `try_model=False` is for looking up results: a run that has one was possible, and trying imports torch's compiler.
    """
    given = dict(settings)
    if "task" not in given or "encoding" not in given:
        raise InputError(f"a run needs a task and an encoding, got {', '.join(given) or 'neither'}")
    text, task = tasks.parse(str(given.pop("task")))
    extras = {"epochs", "preset"}
    run_keys = {f.name for f in fields(RunConfig)} - {"task", "model"}
    model_keys = {f.name for f in fields(ModelConfig)} - set(FROM_TASK)
    inner = given.pop("model", {})
    if not isinstance(inner, Mapping):
        raise InputError(f"model must be a table of keys and values, got {inner!r}")
    model = dict(inner)
    problems = []
    for key in list(given):
        if key in model_keys and key in model:
            problems.append(f"{key} was given twice, as {key} and as model.{key}")
        elif key in model_keys:
            model[key] = given.pop(key)
        elif key in FROM_TASK or key == "position":
            problems.append(f"{key} is decided by the task {task.name}")
        elif key not in run_keys | extras:
            problems.append(f"unknown key {key}: {nearest(key, run_keys | model_keys | extras)}")
    problems += [f"{key} is decided by the task {task.name}" for key in model if key in FROM_TASK]
    refuse(problems)
    check_numbers(given | model)
    preset = str(given.pop("preset", "classic"))
    if preset not in PRESETS:
        raise InputError(f"unknown preset {preset!r}: {nearest(preset, PRESETS)}")
    given["device"] = str(pick_device(str(given.get("device", "auto"))))
    lengths = _lengths(task, given)
    budget = _budget(task, given, lengths["train_lengths"])
    ending = _ending(task, given, budget["steps"])
    limit = _position_limit(task, given, lengths)
    # Under drawn coverage, every id below the limit is trained.
    drawn = limit if given.get("coverage", "plain") != "plain" else 0
    trained = (drawn or task.width(max(lengths["train_lengths"]))) + (task.readout == "readout")
    fixed = dict(
        vocabulary=task.vocabulary, classes=task.classes, causal=task.form == "causal", axes=task.axes,
        readout=task.readout, tied=False,
        length=trained if task.axes == 1 else drawn or max(task.sides(max(lengths["train_lengths"]))),
    )  # fmt: skip
    # Dropout prevents memorizing a fixed dataset; fresh sequences cannot be memorized.
    small = dict(dim=DIM, dropout=0.1 if budget["dataset"] else 0.0)
    network = build(ModelConfig, small, PRESETS[preset], model, fixed)
    config = build(RunConfig, given, lengths, budget, ending, {"task": text, "model": network, "position_limit": limit})
    _check(config)
    check_memory(config, task)
    if try_model:
        _try(network, task, task.width(max(lengths["train_lengths"])))
    return config


def rebuild(content: Mapping[str, Any], task: Task | None = None) -> RunConfig:
    """A stored configuration, which may come from elsewhere: checked like a new one."""
    config = build(RunConfig, content)
    task = task or config.make_task()
    check_numbers({**vars(config), **vars(config.model)})
    lengths = {name: getattr(config, name) for name in ("train_lengths", "test_lengths", "ood_lengths")}
    if _lengths(task, dict(lengths)) != lengths:
        raise InputError(f"the lengths {list(lengths.values())} are not those of a run")
    _budget(task, vars(config) | {"epochs": None}, config.train_lengths)
    _check(config)
    check_memory(config, task)
    return config


def _try(config: ModelConfig, task: Task, width: int) -> None:
    """Build and run the model once on the meta device, which computes shapes but no numbers.

    Only a forward pass shows every combination that an encoding refuses, a plug-in's too; a comparison of hundreds of
    runs must not find out after hours. It takes milliseconds and no memory.
    """
    with torch.device("meta"):
        model = Transformer(config)
        weights = sum(weight.numel() for weight in model.parameters())
        require_memory(STATE * weights, f"training a model with {config.encoding} and its {weights} parameters")
        for part in model.parts:
            for what in {"segments", "relation"} & set(part.extra_inputs):
                raise InputError(f"{part.name} reads the {what} of tokens, which {task.name} does not give")
        positions = torch.zeros(width, config.axes, dtype=torch.long) if config.axes > 1 else None
        try:
            model(torch.zeros(1, width, dtype=torch.long), positions=positions)
        except (InputError, MemoryError):
            raise
        except Exception as error:
            texts = [config.encoding] if isinstance(config.encoding, str) else config.encoding
            names = {choice.name for text in texts for choice in parse_choice(text)}
            sources = {name: source for name in names if (source := encodings.registry.source(name))}
            if not sources:
                raise
            name, source = min(sources.items())
            raise InputError(f"{name} comes from {source}, and a model fails with it: {error_text(error)}") from error


def _lengths(task: Task, given: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    if "train_lengths" not in given and task.train_lengths[0] > task.train_lengths[1]:
        raise InputError(f"{task.name} makes lengths of at least {task.shortest} ({task.because}): give train_lengths")
    train = _tuple(given.pop("train_lengths", task.train_lengths), "train_lengths")
    if len(train) == 1:
        train = (train[0], train[0])
    if len(train) != 2 or train[0] > train[1]:
        raise InputError(f"train_lengths must be one length or a range [shortest,longest], got {list(train)}")
    low, high = train
    inside = _tuple(given.pop("test_lengths", (high,)), "test_lengths")
    if "ood_lengths" in given:
        outside = _tuple(given.pop("ood_lengths"), "ood_lengths")
    else:
        outside = task.beyond(high)
        if task.longest is not None and max(outside, default=0) > task.longest:
            raise InputError(
                f"{task.name} makes lengths up to {task.longest} ({task.because}), but a longest training length of "
                f"{high} is tested up to {max(outside)}: give ood_lengths, or train on shorter ones"
            )
    for length in (*train, *inside, *outside):
        task.check_length(length)
    for length in inside:
        if not low <= length <= high:
            where = f"outside the training lengths {low} to {high}"
            raise InputError(f"test length {length} lies {where}: it is not in distribution")
    for length in outside:
        if length <= high:
            raise InputError(f"ood length {length} is not out of distribution: training goes up to length {high}")
    if not inside:
        raise InputError("test_lengths is empty: name at least one length in distribution")
    return dict(train_lengths=train, test_lengths=tuple(sorted(set(inside))), ood_lengths=tuple(sorted(set(outside))))


def shares(dataset: int, lengths: tuple[int, ...]) -> list[int]:
    """How many sequences of a fixed dataset each of the training lengths has."""
    count = lengths[-1] - lengths[0] + 1
    return [dataset // count + (i < dataset % count) for i in range(count)]


def _budget(task: Task, given: dict[str, Any], lengths: tuple[int, ...]) -> dict[str, Any]:
    """Steps; or a fixed dataset and epochs, which come to steps."""
    dataset = given.pop("dataset", task.dataset)
    steps, epochs, batch = given.pop("steps", None), given.pop("epochs", None), given.get("batch", RunConfig.batch)
    dataset, steps, epochs, batch = (
        int(value) if isinstance(value, float) and value.is_integer() else value
        for value in (dataset, steps, epochs, batch)
    )
    for name, value in (("dataset", dataset), ("steps", steps), ("epochs", epochs), ("batch", batch)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")
    if batch == 1 and lengths[0] < lengths[1]:
        problem = f"a batch of 1 cannot mix the training lengths {lengths[0]} to {lengths[1]}"
        raise InputError(f"{problem}: give a batch of at least 2, or one length, as in train_lengths={lengths[1]}")
    if steps is not None and epochs is not None:
        raise InputError(f"give steps or epochs, not both: got steps={steps} and epochs={epochs}")
    if dataset is None:
        if epochs is not None:
            raise InputError(f"{task.name} draws fresh sequences, which have no epochs: give steps, or a dataset size")
        return {"dataset": None, "steps": steps or task.most_steps}
    if min(shares(dataset, lengths)) == 0:
        problem = f"a dataset of {dataset} has no sequence for some of the training lengths"
        raise InputError(f"{problem}: give more, or one length")
    return {"dataset": dataset, "steps": steps or (epochs or 20) * math.ceil(dataset / batch)}


def _ending(task: Task, given: dict[str, Any], steps: int) -> dict[str, Any]:
    """Budget, schedule and warm-up: what is not given follows from the task and the steps."""
    budget = given.pop("budget", "fixed" if task.metric == "loss" else "learned")
    if budget == "learned" and task.metric == "loss":
        raise InputError(f"{task.name} is scored by its loss, which is never learned: leave out budget={budget}")
    schedule = given.pop("schedule", "wsd" if budget == "learned" else "cosine")
    if budget == "learned" and schedule in ("cosine", "linear", "constant"):
        raise InputError(f"schedule={schedule} needs to know the last step beforehand: give budget=fixed with it")
    return {"budget": budget, "schedule": schedule, "warmup": given.pop("warmup", min(RunConfig.warmup, steps // 10))}


def _position_limit(task: Task, given: dict[str, Any], lengths: dict[str, tuple[int, ...]]) -> int:
    limit = given.pop("position_limit", None)
    if given.get("coverage", "plain") == "plain" and given.get("test_coverage", "usual") in ("usual", "plain"):
        if limit:
            raise InputError("position_limit is read by coverage=offset and coverage=randomized, but coverage is plain")
        return 0
    longest = max(max(task.sides(n)) for n in (*lengths["train_lengths"], *lengths["ood_lengths"]))
    if limit is None:
        return longest
    if not isinstance(limit, int) or limit < longest:
        raise InputError(f"position_limit must be at least {longest}, the longest sequence, got {limit}")
    return limit


def _check(config: RunConfig) -> None:
    problems = []
    if config.decay != RunConfig.decay and config.schedule != "wsd":
        problems.append(f"decay is read by schedule=wsd, but schedule is {config.schedule}")
    if config.coverage_draws != RunConfig.coverage_draws and config.tested == "plain":
        problems.append("coverage_draws is read where evaluation draws position ids: set test_coverage=randomized")
    problems += too_small(config, lr=1e-12, warmup=0, weight_decay=0, clip=0)
    problems += too_small(config, threads=1, coverage_draws=1, evaluation_sequences=1)
    if not 0 <= config.decay <= 1:
        problems.append(f"decay must lie in 0 to 1, got {config.decay:g}")
    room = round((1 - config.decay) * config.steps) if config.schedule == "wsd" else config.steps
    if config.warmup > room:
        problems.append(f"a warm-up of {config.warmup} steps does not fit into {config.steps} steps with their decay")
    refuse(problems + wrong_betas(config.betas))


def _tuple(value: Any, name: str) -> tuple[int, ...]:
    items = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        raise InputError(f"{name} must be whole numbers, got {value!r}")
    return items
