"""A study that has to be done within a time: what it gives up, in which order, and that its own sum holds."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.statistics.holm import FEWEST_SEEDS, seeds_needed
from ordinate.statistics.looks import MOST
from ordinate.statistics.phrases import USUAL_SEEDS
from ordinate.store import Store, open_store
from ordinate.studies import cost as costs
from ordinate.studies import study_store
from ordinate.studies.compare import Job, compare, prepare
from ordinate.studies.cost import BUDGETS, REPORT, TOGETHER, WIDTHS, cost, within
from ordinate.studies.plan import PILOT_SHARE, RATES, Study, plan
from ordinate.training.timing import Estimate

from . import made

# Width, budget and seeds are left to the plan.
FREE: dict[str, Any] = {key: value for key, value in made.SETTINGS.items() if key not in ("dim", "steps")}
STEP, SCORING, BYTES = 0.25, 7.0, 1000  # of the widest model
SIX = ",".join(made.SIX)

_planned: dict[str, Study] = {}  # planning tries every model once, which takes a while


def slow(study: Study, times: float = 1.0) -> dict[tuple[str, str], Estimate]:
    """Made up: a step takes the longer the wider the model is, and alibi takes three times as long as others."""
    return {
        (task, encoding): Estimate(
            times * STEP * (base.model.dim / 64) * (3 if encoding == "alibi" else 1), times * SCORING, BYTES
        )
        for task, encoding, base in study.bases
    }


@pytest.fixture(autouse=True)
def _made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "estimates", slow)


def maker(
    encodings: str = "rope,alibi", tasks: str = made.TASK, seeds: int | None = None, **settings: Any
) -> Callable[[int | None], Study]:
    """Plans with another width."""

    def make(width: int | None = None) -> Study:
        asked = FREE | settings | ({} if width is None else {"dim": width})
        key = repr((tasks, encodings, seeds, asked))
        if key not in _planned:
            _planned[key] = plan(tasks, encodings, seeds=seeds, settings=asked)
        return _planned[key]

    return make


def planned(seconds: float, workers: int = 1, **options: Any) -> Study:
    taken = {"seeds"} & options.keys() | (options.keys() - {"encodings", "tasks"})
    return within(seconds, maker(**options), workers, taken)


def shape(study: Study) -> tuple[int, int, int]:
    """Width, budget and seeds."""
    ((dim, steps),) = {(base.model.dim, base.steps) for _, _, base in study.bases}
    assert isinstance(study.seeds, int)
    return dim, steps, study.seeds


def seconds_of(dim: int, steps: int, seeds: int, workers: int = 1) -> float:
    """Counted by hand: rope and alibi, seeds to the end of their budgets and three pilots of a quarter."""
    each = [STEP * dim / 64 * times * steps * (seeds + len(RATES) / PILOT_SHARE) for times in (1, 3)]
    scoring = 2 * SCORING * (seeds + len(RATES))
    return REPORT + (sum(each) + scoring) / workers / (TOGETHER if workers > 1 else 1)


def ladder() -> list[tuple[int, int, int]]:
    """All that one pair may be given, best first."""
    whole = maker()(None).bases[0][2].steps
    few = round(BUDGETS[-1] * whole)
    widths = [(dim, whole, USUAL_SEEDS) for dim in WIDTHS]
    budgets = [(WIDTHS[-1], round(share * whole), USUAL_SEEDS) for share in BUDGETS[1:]]
    return [*widths, *budgets, *((WIDTHS[-1], few, seeds) for seeds in range(USUAL_SEEDS - 1, FEWEST_SEEDS - 1, -1))]


def test_the_order_is_width_then_budget_then_seeds() -> None:
    whole = maker()(None).bases[0][2].steps
    shapes = ladder()
    assert shapes[:3] == [(64, whole, 6), (48, whole, 6), (32, whole, 6)]
    assert shapes[-2:] == [(32, whole // 4, 6), (32, whole // 4, 5)]
    needed = [seconds_of(*one) for one in shapes]
    assert needed == sorted(needed, reverse=True)
    assert shape(planned(1e9)) == shapes[0]
    for one, seconds in zip(shapes, needed, strict=True):
        assert shape(planned(seconds + 1e-6)) == one  # no more than needed is given up
    for one, seconds in zip(shapes[1:], needed, strict=False):
        assert shape(planned(seconds - 1e-6)) == one


@pytest.mark.parametrize("workers", [0, 1, 2, 8])
def test_the_bound_holds_by_its_own_sum(workers: int) -> None:
    for seconds in (700.0, 1000.0, 2000.0, 4000.0, 1e5):
        try:
            study = planned(seconds, workers)
        except InputError:
            assert seconds < seconds_of(*ladder()[-1], workers=max(1, workers))
            continue
        takes = REPORT + cost(study, slow(study), workers).seconds
        assert takes == pytest.approx(seconds_of(*shape(study), workers=max(1, workers))) and takes <= seconds


def test_what_was_given_up_is_told() -> None:
    needed = [seconds_of(*one) + 1e-6 for one in ladder()]
    width = "width 32 in place of 64"
    assert [planned(seconds).gave_up for seconds in needed] == [
        (),
        ("width 48 in place of 64",),
        (width,),
        *((width, f"{share:.0%} of the budget") for share in BUDGETS[1:]),
        (width, "25% of the budget", "5 seeds in place of 6"),
    ]


def test_a_study_that_gave_something_up_is_another_and_is_written_down() -> None:
    whole, less = planned(1e9), planned(seconds_of(*ladder()[-1]) + 1e-6)
    assert whole == maker()(None) and whole.id != less.id
    again = Study.from_dict(json.loads(json.dumps(less.as_dict())))
    assert again == less and again.id == less.id and again.gave_up == less.gave_up
    assert less.relaxed == ("5 seeds where 6 are the rule",)  # enough for a claim, and still fewer than the rules ask
    assert replace(less, gave_up=()).id != less.id


@pytest.mark.parametrize(
    "kept",
    [dict(dim=64), dict(dim=16), dict(steps=400), dict(seeds=6), dict(seeds=9), dict(dim=64, steps=400),
     dict(steps=400, seeds=3), dict(dim=64, seeds=6), dict(dim=64, steps=400, seeds=6)],
    ids=str,
)  # fmt: skip
def test_what_the_user_set_is_kept(kept: dict[str, int]) -> None:
    """However short the time, down to the refusal."""
    whole, seconds = shape(planned(1e9, **kept)), 1e5
    shapes = []
    while True:
        try:
            study = planned(seconds, **kept)
        except InputError:
            break
        shapes.append(shape(study))
        seconds *= 0.97
    for place, name in enumerate(("dim", "steps", "seeds")):
        if name in kept:
            assert {one[place] for one in shapes} == {kept[name]}
        else:
            least = (WIDTHS[-1], round(BUDGETS[-1] * whole[1]), FEWEST_SEEDS)[place]
            assert shapes[0][place] == whole[place] and shapes[-1][place] == least


def test_epochs_are_a_budget_too() -> None:
    options: dict[str, Any] = dict(dataset=80, epochs=5)
    steps = shape(planned(1e9, **options))[1]
    assert steps == 50
    least = planned(seconds_of(32, steps, 5) + 1e-6, **options)
    assert shape(least) == (32, steps, 5)
    with pytest.raises(InputError, match="too short"):
        planned(seconds_of(32, steps, 5) - 1, **options)


def test_too_short_is_refused_with_what_it_would_take() -> None:
    least = seconds_of(*ladder()[-1])
    for seconds in (1.0, REPORT, least - 1):
        with pytest.raises(InputError) as error:
            planned(seconds)
        assert str(error.value) == (
            f"{seconds:.0f} s are too short for any claim about these encodings: allow {least:.0f} s, name fewer "
            "encodings or tasks, or take a first look with --quick"
        )
    with pytest.raises(InputError, match="any claim about these encodings"):
        planned(1.0, encodings=SIX)


@pytest.mark.parametrize(
    ("encodings", "tasks", "tests"),
    [(SIX, 1, 30), (SIX, 2, 60), (SIX, 6, 180)],
)
def test_seeds_are_never_fewer_than_a_claim_needs(encodings: str, tasks: int, tests: int) -> None:
    names = ",".join(f"k_back(k=1,vocabulary={4 + n})" for n in range(tasks))
    whole = plan(names, encodings, settings=FREE)
    assert whole.tests == tests
    seconds, fewest = 1e6, None
    while True:
        try:
            fewest = within(seconds, lambda width: whole, 1, ()).seeds
        except InputError:
            break
        seconds *= 0.99
    assert fewest == seeds_needed(tests)


def test_what_it_costs() -> None:
    """Seeds run to the end of their budgets, pilots to a quarter, and all of them are scored and kept."""
    study = made.study(seeds=6, settings=dict(dim=64, steps=100))
    found = cost(study, slow(study), 1)
    assert found.seconds == pytest.approx(seconds_of(64, 100, 6) - REPORT) and found.bytes == 2 * (6 + 3) * BYTES
    assert cost(study, slow(study), 0) == found
    assert cost(study, slow(study), 2).seconds == pytest.approx(found.seconds / 2 / TOGETHER)
    fixed = made.study(seeds=6, settings=dict(dim=64, steps=100, budget="fixed"))
    assert cost(fixed, slow(fixed), 1).seconds == pytest.approx(STEP * 4 * 100 * 9 + 2 * SCORING * 9)
    auto = made.study(seeds="auto", fixed=True, settings=dict(dim=64, steps=100))
    assert cost(auto, slow(auto), 1).seconds == pytest.approx(STEP * 4 * 100 * MOST + 2 * SCORING * MOST)


# As the main job asks for it.

ASKED: dict[str, Any] = dict(workers=0, settings=FREE)


def ready(folder: Path, seconds: float | None, **options: Any) -> Job:
    return prepare(made.TASK, "rope,alibi", within=seconds, store=folder, **(ASKED | options))


@pytest.fixture
def tight() -> float:
    """Seconds for which seeds have to be given up."""
    return seconds_of(*ladder()[-1]) + 1


def test_the_same_command_goes_on_with_the_same_plan(
    tight: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the machine may be slower or faster by now."""

    def watch(event: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(made.TASK, "rope,alibi", within=tight, store=tmp_path, workers=0, watch=watch, **FREE)
    (name,) = study_store.names(Store(tmp_path))
    first = study_store.find(Store(tmp_path), name)
    assert shape(first.study) == ladder()[-1]
    for times in (0.01, 1.0, 100.0):
        monkeypatch.setattr(costs, "estimates", lambda study, times=times: slow(study, times))
        again = ready(tmp_path, tight)
        assert again.study == first.study and again.command == first.command and again.folder == first.folder
    with pytest.raises(InputError, match="too short"):
        ready(tmp_path, tight + 1)  # another command is planned by the machine as it is
    with pytest.raises(InputError, match="too short"):
        ready(tmp_path, tight, settings=FREE | dict(batch=16))


def test_a_plan_of_another_schema_is_made_anew(tight: float, tmp_path: Path) -> None:
    job = ready(tmp_path, tight)
    path = study_store.save(job.store, job.study, job.command).folder / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 1}))
    assert shape(ready(tmp_path, 1e9).study) == ladder()[0]
    assert shape(ready(tmp_path, tight).study) == ladder()[-1]


def test_nothing_is_written_before_it_begins(tight: float, tmp_path: Path) -> None:
    for seconds in (tight, 1e9):
        ready(tmp_path / "runs", seconds)
    with pytest.raises(InputError):
        ready(tmp_path / "runs", 1.0)
    assert not (tmp_path / "runs").exists()


def test_the_command_tells_the_time_and_only_the_seeds_that_were_asked_for(tight: float, tmp_path: Path) -> None:
    words = shlex.split(ready(tmp_path, tight).command)
    assert words[words.index("--within") + 1] == f"{tight:g}s" and "--seeds" not in words
    words = shlex.split(ready(tmp_path, 1e9, seeds=7).command)
    assert words[words.index("--within") + 1] == "1e+09s" and words[words.index("--seeds") + 1] == "7"
    assert "--within" not in shlex.split(ready(tmp_path, None).command)


def test_seeds_that_were_asked_for_are_kept_whatever_was_asked_before(tight: float, tmp_path: Path) -> None:
    """As many as is usual, but set by the user: another wish than none."""
    job = ready(tmp_path, tight)
    assert job.study.seeds == 5
    study_store.save(job.store, job.study, job.command)
    with pytest.raises(InputError, match="too short"):
        ready(tmp_path, tight, seeds=6)


def test_a_width_given_in_a_table_is_kept(tight: float, tmp_path: Path) -> None:
    study = ready(tmp_path, tight, settings=FREE | dict(model=dict(dim=16))).study
    assert {base.model.dim for _, _, base in study.bases} == {16}


def test_a_preset_with_a_width_keeps_it(tmp_path: Path) -> None:
    settings = {key: value for key, value in FREE.items() if key not in ("heads", "layers")} | dict(preset="tiny")
    whole = plan(made.TASK, "rope,alibi", settings=settings).bases[0][2].steps
    study = ready(tmp_path, seconds_of(512, whole // 4, 5) + 1, settings=settings).study
    assert {base.model.dim for _, _, base in study.bases} == {512}


def test_widths_that_heads_do_not_allow_are_passed_over(tmp_path: Path) -> None:
    assert shape(ready(tmp_path, seconds_of(*ladder()[2]) + 1, settings=FREE | dict(heads=16)).study) == ladder()[2]


def test_few_seeds_that_the_user_wants_stay_preliminary(tmp_path: Path) -> None:
    whole = shape(ready(tmp_path, 1e9).study)[1]
    study = ready(tmp_path, seconds_of(48, whole, 2) + 1, seeds=2).study
    assert study.gave_up == ("width 48 in place of 64",)
    assert study.relaxed == ("2 seeds where 6 are the rule",)


def test_another_study_that_is_damaged_does_no_harm(tight: float, tmp_path: Path) -> None:
    kept = study_store.save(open_store(tmp_path), made.study(seeds=1), "another")
    (kept.folder / "study.json").write_text("{")
    assert shape(ready(tmp_path, tight).study) == ladder()[-1]


@pytest.mark.parametrize("options", [dict(quick=True), dict(seeds="auto")], ids=str)
def test_what_plans_the_seeds_otherwise_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--within plans the seeds itself: leave out --quick and --seeds auto"):
        ready(tmp_path, 600.0, **options)
