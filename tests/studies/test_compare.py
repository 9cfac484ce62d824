"""The main job as a script calls it."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.core.parsing import parse_pairs
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.command import write_command
from ordinate.studies.compare import compare
from ordinate.studies.plan import MANY, Study, plan

from . import made


def typed(text: str) -> tuple[Study, str]:
    """What somebody gets who types a command, and the store."""
    program, job, tasks, *words = shlex.split(text)
    assert (program, job) == ("ordinate", "compare")
    options: dict[str, Any] = {"--store": "runs"}
    pairs = []
    while words:
        word = words.pop(0)
        if word == "--quick":
            options[word] = True
        elif word.startswith("--"):
            options[word] = words.pop(0)
        else:
            pairs.append(word)
    rates, seeds = options.get("--rates"), options["--seeds"]
    study = plan(
        tasks, options["--encodings"], quick="--quick" in options,
        seeds="auto" if seeds == "auto" else int(seeds),
        rates=None if rates is None else [float(rate) for rate in rates.split(",")], settings=parse_pairs(pairs),
    )  # fmt: skip
    return study, options["--store"]


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (dict(), {}),
        (dict(seeds="auto", tasks=f"{made.TASK},first_last"), {}),
        (dict(quick=True), {}),
        (dict(encodings="rope,t5(buckets=16,farthest=64)", seeds=7), dict(lr=0.012345678901234567)),
        (dict(rates=[0.0012345678901234567, 1 / 3000, 1e-5]), dict(betas=(0.9, 0.99), budget="fixed", warmup=0)),
        (dict(), dict(coverage="randomized", position_limit=30, model=dict(dropout=0.25, norm="rms"))),
    ],
    ids=repr,
)
def test_the_command_makes_the_comparison_again(options: dict[str, Any], settings: dict[str, Any]) -> None:
    asked = made.study(settings=settings, **options)
    again, store = typed(write_command(asked, made.SETTINGS | settings) + Store(Path("my runs/here")).option)
    assert again == asked and again.id == asked.id and store == "my runs/here"


def test_too_many_runs_are_not_started(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"this would be 2,006 runs: ask for fewer"):
        compare(made.TASK, "rope,alibi", seeds=MANY, store=tmp_path / "runs", **made.SETTINGS)
    assert not (tmp_path / "runs").exists()


def test_a_study_is_kept_before_its_first_run(store: Store) -> None:
    def watch(event: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(made.TASK, "rope,alibi", store=store.folder, workers=0, watch=watch, **made.SETTINGS)
    kept = study_store.find(store)
    assert kept.study == made.study() and not store.runs()
    assert typed(kept.again) == (made.study(), str(store.folder))


def test_bad_input_leaves_nothing_behind(tmp_path: Path) -> None:
    for options in (dict(steps=-1), dict(workers=-1), dict(seeds=0)):
        with pytest.raises(InputError):
            compare(made.TASK, "rope,alibi", store=tmp_path / "runs", **(made.SETTINGS | options))
    assert not (tmp_path / "runs").exists()


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder of runs"):
        compare(made.TASK, "rope,alibi", store=tmp_path / "file", workers=0, **made.SETTINGS)
