"""Carrying out comparisons of language models: the forecast, progress, and what to do after a stop."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ordinate.cli.console import say
from ordinate.core.display import duration, escaped

if TYPE_CHECKING:
    from ordinate.cli.progress import Bar
    from ordinate.studies.lm.forecast import LMForecast
    from ordinate.studies.lm.pool import RunEvent
    from ordinate.studies.lm.study import LMStudy, LMStudyOutcome
    from ordinate.text.corpus import Corpus

LINES = 30.0  # seconds between two lines of progress without a terminal


def default_workers(workers: int | None) -> int:
    """One process for each core."""
    from ordinate.core.errors import InputError
    from ordinate.studies.local import usable_cores

    if workers is not None and not 0 <= workers <= 1000:
        raise InputError(f"workers must be 0 (none: all in this process) to 1,000, got {workers}")
    return len(usable_cores()) if workers is None else workers


def carry_out(
    study: "LMStudy", corpus: "Corpus", root: Path, device: str, workers: int, again: str, *, dry_run: bool
) -> "tuple[LMStudyOutcome | None, bool]":
    """Do the missing runs of all parts. Returns what was found, none after a dry run, and whether some run failed."""
    from ordinate.cli.progress import Bar
    from ordinate.model import pick_device
    from ordinate.studies.executor import StudyStopped
    from ordinate.studies.lm.forecast import few_seeds_words, forecast
    from ordinate.studies.lm.pool import do_runs
    from ordinate.studies.lm.recorded import record_study
    from ordinate.studies.lm.stored_runs import Checkpoints
    from ordinate.studies.lm.study import study_outcome
    from ordinate.studies.lm.work import Workplace

    place = Workplace(Checkpoints(root), corpus, str(pick_device(device)))
    place.checkpoints.check()
    comparisons = [part.comparison(corpus.fingerprint) for part in study.parts]
    runs = {run.id: run for comparison in comparisons for run in comparison.distinct_runs}
    for part, comparison in zip(study.parts, comparisons, strict=True):
        head = f"{part.name}: " if len(study.parts) > 1 else ""
        few = few_seeds_words(comparison)
        say(f"{head}{', '.join(comparison.names)}", *([f"  {few}"] if few else []), stderr=not dry_run)
    expected = forecast(list(runs.values()), place, workers)
    say(expected.line, stderr=not dry_run)
    if dry_run:
        return None, False
    record_study(root, study, corpus.fingerprint, again)  # for the app
    failures: dict[str, str] = {}
    try:
        with Bar() as bar:
            display = _RunsDisplay(bar, expected)
            failures = do_runs(expected.missing, place, workers, display.show) if expected.missing else {}
    except StudyStopped:
        print("ordinate: stopped; what is done is kept, the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
    for run, error in failures.items():
        print(f"ordinate: {runs[run].name} failed: {escaped(error)}", file=sys.stderr)
    return study_outcome(study, corpus.fingerprint, [place.checkpoints], again, failures), bool(failures)


class _RunsDisplay:
    """Draws a bar over all runs; without a terminal, prints a line for each run that ends and every half a minute."""

    def __init__(self, bar: "Bar", expected: "LMForecast") -> None:
        self.bar, self.runs, self.seconds = bar, len(expected.missing), expected.seconds
        self.began, self.said, self.ended = time.monotonic(), time.monotonic(), 0
        self.shares: dict[str, float] = {}

    def show(self, event: "RunEvent") -> None:
        name = event.run.name
        if event.kind == "progress" and event.progress is not None:
            self.shares[event.run.id] = event.progress.share
            self.bar.draw(self._head(), self._share(), f"{name}: {event.progress.text}  {self._left()}")
            if time.monotonic() > self.said + LINES:
                self.said = time.monotonic()
                self.bar.say(f"{self._head()}  {name}: {event.progress.text}  {self._left()}")
        elif event.kind in ("done", "failed"):
            self.ended += 1
            self.shares[event.run.id] = 1.0
            self.bar.say(f"{self._head()}  {name}  {event.error or event.kind}  {self._left()}")
        elif event.kind == "elsewhere":
            self.bar.say(f"{name}  is being done by another process")

    def _head(self) -> str:
        return f"{self.ended}/{self.runs} runs"

    def _share(self) -> float:
        return min(1.0, sum(self.shares.values()) / max(1, self.runs))

    def _left(self) -> str:
        share, took = self._share(), time.monotonic() - self.began
        left = self.seconds if share < 0.02 else took * (1 - share) / share
        return f"{duration(left)} left in all"
