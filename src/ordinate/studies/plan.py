"""What a comparison consists of: tasks by encodings, tuned on a pilot seed, then run on paired seeds."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ordinate import encodings as all_encodings
from ordinate import tasks as all_tasks
from ordinate.core.config import to_dict
from ordinate.core.display import printable
from ordinate.core.errors import InputError
from ordinate.core.parsing import split
from ordinate.statistics.holm import score_tests, seeds_needed
from ordinate.statistics.looks import MOST
from ordinate.statistics.phrases import USUAL_SEEDS, few_seeds_words
from ordinate.training import RunConfig, resolve
from ordinate.training.config import rebuild
from ordinate.training.config_limits import check_numbers

PILOT = 0  # the seed that learning rates are chosen on, and that is never reported; reported seeds count from 1
RATES = (0.001, 0.003, 0.01)  # where the search for a learning rate starts
PILOT_SHARE = 4  # a rate is judged by what it reaches in this part of the budget
HOPELESS = 8  # times what the fastest encoding took, after which one that no pilot learned the task with gives up
QUICK_SEEDS = 3
ENDPOINTS = 2  # that encodings are compared by: the headline range and the area under the scores
MANY = 1000  # runs: more than this needs a confirmation
MOST_RUNS = 100_000  # of one comparison: more than a machine does in a year

Seeds = int | Literal["auto"]


@dataclass(frozen=True)
class Study:
    """Everything that decides which runs a comparison needs. Each base configuration has a seed and a rate put in."""

    bases: tuple[tuple[str, str, RunConfig], ...]  # task, encoding, configuration
    seeds: Seeds = USUAL_SEEDS
    rates: tuple[float, ...] = RATES  # none: no sweep, the configuration's own rate for all
    quick: bool = False
    gave_up: tuple[str, ...] = ()  # to be done within a time, in words

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(task for task, _, _ in self.bases))

    @property
    def encodings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(encoding for _, encoding, _ in self.bases))

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name this content."""
        return name_of(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "bases": [{"task": t, "encoding": e, "config": to_dict(c)} for t, e, c in self.bases],
            "seeds": self.seeds, "rates": list(self.rates), "quick": self.quick, "gave_up": list(self.gave_up),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Study":
        """What `as_dict` gave, which may come from a stranger: all of it is looked at."""
        known = {name: all_tasks.parse(name)[1] for name in {str(base["task"]) for base in content["bases"]}}
        bases = tuple((b["task"], b["encoding"], rebuild(b["config"], known[b["task"]])) for b in content["bases"])
        rates = _grid(content["rates"]) if content["rates"] else ()
        if not bases or any((task, encoding) != (c.task, c.model.encoding) for task, encoding, c in bases):
            raise ValueError("it compares other things than it runs")
        quick, gave_up, seeds = content["quick"], content["gave_up"], content["seeds"]
        if not isinstance(quick, bool) or not all(isinstance(part, str) and printable(part) for part in gave_up):
            raise ValueError("quick or gave_up has the wrong type")
        if seeds != "auto" and type(seeds) is not int:
            raise ValueError(f"seeds is {seeds!r}")
        study = cls(bases, seeds, rates, quick, tuple(gave_up))
        _check_size(study)
        return study

    @property
    def tests(self) -> int:
        """How many tests of scores there are at most: pairs of encodings over all tasks, on two endpoints."""
        return score_tests([len(self.encodings)] * len(self.tasks), ENDPOINTS)

    @property
    def size(self) -> int:
        """How many runs there are at most, if no learning-rate grid has to grow."""
        return len(self.bases) * ((MOST if self.seeds == "auto" else self.seeds) + len(self.rates))

    @property
    def relaxed(self) -> tuple[str, ...]:
        """Rules of a fair comparison that the user gave up, in words."""
        found = []
        if not self.rates:
            found.append(f"one learning rate ({self.bases[0][2].lr:g}) for all encodings, not tuned")
        if self.seeds != "auto" and self.seeds < USUAL_SEEDS:
            found.append(few_seeds_words(self.seeds))
        return tuple(found)


def name_of(content: Mapping[str, Any]) -> str:
    """The id of a study with this content, whichever version of this program it belongs to."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def usual_seeds(tasks: int, encodings: int) -> int:
    """As many as the rules ask for, and as a claim about any pair needs."""
    return max(USUAL_SEEDS, seeds_needed(score_tests([encodings] * tasks, ENDPOINTS)))


def plan(
    tasks: str | Sequence[str],
    encodings: str | Sequence[str] | None = None,
    *,
    seeds: Seeds | None = None,
    quick: bool = False,
    rates: Sequence[float] | None = None,
    settings: Mapping[str, Any] | None = None,
    try_models: bool = True,
) -> Study:
    """A study from a user's settings; every run of it is known to be possible, if models are tried."""
    given = dict(settings or {})
    named = _names(tasks, "task", all_tasks.parse)
    chosen = _names(
        all_encodings.usual(all_tasks.parse(named[0])[1].axes) if encodings is None else encodings,
        "encoding",
        lambda text: (all_encodings.canonical(text),),
    )
    if len(chosen) < 2:
        raise InputError(f"one encoding alone ({chosen[0]}) is no comparison: name two, or use ordinate train")
    for name in ("task", "encoding"):
        if name in given:
            raise InputError(f"{name} is no setting of a comparison: leave {name}={given[name]} out and name {name}s")
    if "seed" in given:
        raise InputError("a comparison chooses its seeds itself: leave seed out and give --seeds N")
    if quick and (rates is not None or seeds == "auto"):
        raise InputError("--quick has no sweep and 3 seeds: leave out --rates and --seeds auto, or --quick")
    if rates is not None and "lr" in given:
        raise InputError(f"lr={given['lr']} fixes the learning rate and --rates sweeps it: give one of them")
    if seeds is None:
        seeds = QUICK_SEEDS if quick else usual_seeds(len(named), len(chosen))
    grid = _grid(RATES if rates is None else rates) if not quick and "lr" not in given else ()
    bases = tuple(
        (task, encoding, resolve(given | {"task": task, "encoding": encoding, "seed": PILOT}, try_model=try_models))
        for task in named
        for encoding in chosen
    )
    study = Study(bases, seeds, grid, quick)
    _check_size(study)
    return study


def _check_size(study: Study) -> None:
    seeds = study.seeds
    if seeds != "auto" and (isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1):
        raise InputError(f"seeds must be auto or a whole number of at least 1, got {seeds!r}")
    if study.size > MOST_RUNS:
        raise InputError(f"this would be {study.size:,} runs, and a comparison has at most {MOST_RUNS:,}: ask for less")


def _names(given: str | Sequence[str], kind: str, parse: Any) -> list[str]:
    """Names as people write them, in one text with commas or one by one; each once."""
    texts = split(given, ",") if isinstance(given, str) else list(given) if isinstance(given, Sequence) else [given]
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"a {kind} is named by a text, got {text!r}")
    found = [parse(text)[0] for text in texts if text.strip()]
    if not found:
        raise InputError(
            f"no {kind} was named: name at least {'two, as in rope,alibi' if kind == 'encoding' else 'one'}"
        )
    twice = {name for name in found if found.count(name) > 1}
    if twice:
        raise InputError(f"{kind} {sorted(twice)[0]} was named twice")
    return found


def _grid(rates: Sequence[float]) -> tuple[float, ...]:
    for rate in rates:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < float("inf"):
            raise InputError(f"a learning rate is a number above 0, got {rate!r}")
    check_numbers({"lr": list(rates)})
    if not rates:
        raise InputError("no learning rate was named: name some, as in 0.001,0.003,0.01, or give lr=0.001")
    return tuple(sorted({float(rate) for rate in rates}))
