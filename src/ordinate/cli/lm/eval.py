"""`ordinate lm eval`: what trained language models score, past their trained length too."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from typer import Argument, Option

from ordinate.cli.console import console, say
from ordinate.cli.lm.request import Data, Device
from ordinate.cli.options import AsJson, read_toml
from ordinate.core.display import duration
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.cli.progress import Bar
    from ordinate.lm.evaluation.config import EvalConfig
    from ordinate.lm.trained_model import TrainedModel
    from ordinate.results.lm_evaluation import LanguageModelEvaluation
    from ordinate.text.corpus import Corpus

LINES = 10.0  # seconds between two lines of progress without a terminal


def run(
    checkpoints: Annotated[
        list[Path], Argument(metavar="CHECKPOINT...", help="Checkpoint folders, or checkpoints in them.")
    ],
    config: Path | None = Option(None, "--config", help="A TOML file of what to evaluate (default: all)."),
    only: str = Option("", help="Parts of it: text,problems,passkey,induction."),
    scaling: str = Option("", help="Also with the angles scaled past the trained length: linear,ntk,dynamic,yarn."),
    data: Data = None,
    device: Device = "auto",
    threads: int | None = Option(None, help="Threads (default: all cores)."),
    output: Path | None = Option(
        None, "--output", "-o", help="A page (.html), or another place for the results (.json)."
    ),
    again: bool = Option(False, "--again", help="Evaluate again what was evaluated before."),
    as_json: AsJson = False,
) -> None:
    """Evaluate trained language models: loss by context and position, algorithmic problems, induction.

    Results are stored beside each checkpoint as eval.json and are not computed twice.
    """
    from ordinate.model import pick_device
    from ordinate.report.lm_terminal import print_evaluations
    from ordinate.results.serialize import write
    from ordinate.text.prepare import cores
    from ordinate.training import environment

    wanted = read_configuration(config, only, scaling)
    _check_output(output, len(checkpoints))
    chosen = pick_device(device)
    with environment.prepared(threads or cores(), str(chosen)), _stopped():
        opened = [_opened(path, wanted, data, str(chosen), output, again=again) for path in checkpoints]
        found = [_evaluated(request, wanted) for request in opened]  # all were checked before the first one is
    if output is not None and output.suffix == ".html":
        from ordinate.report.lm_page import evaluation_page
        from ordinate.report.output import put

        put(output, evaluation_page(found))
        say(str(output), stderr=True)
    if as_json:
        documents = [write(evaluation) for evaluation in found]
        print(json.dumps(documents if len(found) > 1 else documents[0], indent=1))
    else:
        print_evaluations(found, console(120))


def read_configuration(file: Path | None, only: str, scaling: str) -> "EvalConfig":
    """The file, with the options on top."""
    from ordinate.core.config import build
    from ordinate.lm.evaluation.config import EvalConfig

    given = {"parts": only, "scaling": scaling}
    on_top = {key: tuple(text.split(",")) for key, text in given.items() if text}
    settings = read_toml(file)
    try:
        return build(EvalConfig, settings, on_top)
    except InputError as error:
        raise InputError(f"{file}: {error}" if file and settings else str(error)) from error


def _check_output(output: Path | None, checkpoints: int) -> None:
    if output is None:
        return
    if output.suffix not in (".html", ".json"):
        raise InputError(f"{output} is neither a page (.html) nor results (.json): choose one of these endings")
    if output.suffix == ".json" and checkpoints > 1:
        raise InputError(f"{output} holds the results of one checkpoint, got {checkpoints}: leave -o out")


class EvaluationRequest(NamedTuple):
    """A checkpoint, where its results belong, and either those that are stored there or the text to evaluate on."""

    trained: "TrainedModel"
    file: Path
    stored: "LanguageModelEvaluation | None"
    corpus: "Corpus | None"


def _opened(
    path: Path, config: "EvalConfig", data: Path | None, device: str, output: Path | None, *, again: bool
) -> EvaluationRequest:
    from ordinate.lm.evaluation.scaling import check_scalings
    from ordinate.lm.evaluation.stored import evaluation_path, stored_evaluation
    from ordinate.lm.trained_model import open_trained

    trained = open_trained(path, device)
    check_scalings(trained, config.scaling)
    file = output if output is not None and output.suffix == ".json" else evaluation_path(trained, config)
    stored = None if again else stored_evaluation(file, trained)
    return EvaluationRequest(trained, file, stored, None if stored else trained.find_corpus(data))


def _evaluated(request: EvaluationRequest, config: "EvalConfig") -> "LanguageModelEvaluation":
    """The stored evaluation of a checkpoint, or a new one that is stored."""
    from ordinate.cli.progress import Bar
    from ordinate.lm.evaluation.evaluate import evaluate
    from ordinate.lm.evaluation.stored import write_evaluation

    if request.stored is not None:
        say(f"{request.file}: evaluated before; --again computes it again", stderr=True)
        return request.stored
    assert request.corpus is not None
    with Bar() as bar:
        display = _StageDisplay(request.trained.name, config.stages, bar)
        evaluation = evaluate(request.trained, request.corpus, config, display.show)
    write_evaluation(request.file, evaluation)
    say(f"{request.file} written after {duration(evaluation.seconds)}", stderr=True)
    return evaluation


@contextmanager
def _stopped() -> Iterator[None]:
    """Exit with 130 after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        print("ordinate: stopped; finished evaluations are kept, the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None


class _StageDisplay:
    """Draws the bar; without a terminal, prints a line every few seconds."""

    def __init__(self, name: str, stages: int, bar: "Bar") -> None:
        self.name, self.stages, self.bar, self.done, self.said = name, stages, bar, 0, 0.0

    def show(self, stage: str) -> None:
        """The stage that begins."""
        share = min(1.0, self.done / self.stages)
        self.done += 1
        self.bar.draw(self.name, share, stage)
        if time.monotonic() > self.said + LINES:
            self.said = time.monotonic()
            self.bar.say(f"{self.name}  {share:.0%}  {stage}")
