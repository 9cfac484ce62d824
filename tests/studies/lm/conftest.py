"""A corpus of made text, and comparisons of models that train in a moment."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ordinate.lm import hardware
from ordinate.lm.evaluation.config import EvalConfig, InductionConfig, TextConfig
from ordinate.studies.lm.comparison import LMComparison, ModelArm, plan_comparison
from ordinate.studies.lm.pool import RunEvent, do_runs
from ordinate.studies.lm.stored_runs import Checkpoints
from ordinate.studies.lm.work import Workplace
from ordinate.text.corpus import Corpus
from ordinate.text.prepare import prepare
from ordinate.text.request import request

SMALL: dict[str, Any] = {"dim": 8, "layers": 1, "heads": 1, "length": 8, "batch": 2, "warmup": 1, "vocabulary": 300}
STEP = 16  # tokens
EVALUATION = EvalConfig(
    parts=("text", "induction"),
    text=TextConfig(overall=200, tokens=200, contexts=(0.5, 1.0, 2.0, 4.0), more_contexts=(), windows=("disjoint",),
                    targets=40),
    induction=InductionConfig(periods=(1.0,), sequences=2),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _unmetered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the speed of the machine to be measured."""
    monkeypatch.setattr(hardware, "SECONDS", 0.0)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder, source = tmp_path_factory.mktemp("corpus"), random.Random(1)
    (folder / "text").mkdir()
    for number in range(30):
        words = " ".join(source.choice(("one", "two", "three", "four")) for _ in range(source.choice((3, 30, 60))))
        (folder / "text" / f"{number:03d}.txt").write_text(f"{number}: {words}\n")
    return prepare(request(f"text:{folder / 'text'}", vocabulary=300, valid=0.4), Path(folder / "made"), workers=0)


@pytest.fixture(scope="session")
def planned(corpus: Corpus) -> Callable[..., LMComparison]:
    """A comparison of a few steps each."""

    def make(*arms: str | ModelArm, seeds: int = 2, steps: int = 8, **settings: Any) -> LMComparison:
        own = [ModelArm(arm) if isinstance(arm, str) else arm for arm in arms or ("rope", "none")]
        return plan_comparison("nano", own, seeds, steps * STEP, corpus.fingerprint, SMALL | settings, EVALUATION)

    return make


@pytest.fixture(scope="session")
def finished(
    planned: Callable[..., LMComparison], corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> tuple[LMComparison, Workplace, list[RunEvent]]:
    """Three encodings by two seeds, all done; to read from, and what happened on the way."""
    folder, seen = tmp_path_factory.mktemp("finished"), list[RunEvent]()
    comparison, own = planned("rope", "none", "learned"), Workplace(Checkpoints(folder), corpus, "cpu")
    assert do_runs(comparison.distinct_runs, own, 0, seen.append) == {}
    return comparison, own, seen


@pytest.fixture
def place(corpus: Corpus, tmp_path: Path) -> Workplace:
    return Workplace(Checkpoints(tmp_path / "checkpoints"), corpus, "cpu")
