"""One run: training to its budget, then its evaluation. What is done already is not done again."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

from ordinate.core.display import duration
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.config import Options
from ordinate.lm.evaluation.evaluate import evaluate
from ordinate.lm.evaluation.stored import evaluation_path, write_evaluation
from ordinate.lm.trained_model import open_trained
from ordinate.studies.lm.comparison import ModelRun
from ordinate.studies.lm.evaluation_cost import evaluation_cost
from ordinate.studies.lm.stored_runs import Checkpoints
from ordinate.text.corpus import Corpus
from ordinate.training import Progress
from ordinate.training.interruption import Interrupted, StopCallback, never

VALID_TOKENS = 65_536  # of the loss that a result has; the evaluation that follows has its own
ONCE = 10**8  # steps between validations: there is one, at the end


class RunEnd(StrEnum):
    """How an attempt at a run ended."""

    DONE = "done"
    ELSEWHERE = "elsewhere"  # another process is at it


@dataclass(frozen=True)
class ModelProgress:
    """How far a run is, for a display."""

    share: float  # of the training and the evaluation
    text: str


@dataclass(frozen=True)
class Workplace:
    """What all runs of a comparison share: where checkpoints go, the text, and a device."""

    checkpoints: Checkpoints
    corpus: Corpus
    device: str = "cpu"

    @property
    def root(self) -> Path:
        return self.checkpoints.root


def do_run(
    run: ModelRun,
    place: Workplace,
    watch: Callable[[ModelProgress], None] = lambda now: None,
    stop: StopCallback = never,
) -> RunEnd:
    """Train and evaluate, unless another process does."""
    with place.checkpoints.claimed(run) as mine:
        if not mine:
            return RunEnd.ELSEWHERE
        if place.checkpoints.find(run) is None:
            _train_and_evaluate(run, place, watch, stop)
        return RunEnd.DONE


def _train_and_evaluate(
    run: ModelRun, place: Workplace, watch: Callable[[ModelProgress], None], stop: StopCallback
) -> None:
    tokens, stages = run.branch.end * run.config.step_tokens, count()
    training_share = tokens / (tokens + evaluation_cost(run))

    def training(now: Progress) -> None:
        done, left = now.step / run.branch.end, duration(now.seconds_left)
        text = f"step {now.step:,}/{run.branch.end:,}, loss {now.loss:.3f}, {left} of training left"
        watch(ModelProgress(training_share * done, text))

    def evaluating(stage: str) -> None:
        if stop():
            raise Interrupted(f"{run.name} is trained, and its evaluation will start again")
        done = min(1.0, next(stages) / run.evaluation.stages)
        watch(ModelProgress(training_share + (1 - training_share) * done, f"evaluation, {stage}"))

    options = Options(device=place.device, valid_every=ONCE, valid_tokens=VALID_TOKENS)
    (folder,) = BranchedTraining(run.config, place.corpus, place.root, options).run([run.branch], training, stop)
    trained = open_trained(folder, place.device)
    write_evaluation(
        evaluation_path(trained, run.evaluation), evaluate(trained, place.corpus, run.evaluation, evaluating)
    )
