"""The commands of `ordinate study` for studies of language models."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ordinate.cli.console import console
from ordinate.cli.lm import request as shared
from ordinate.cli.options import RUNS
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.studies.lm.study import LMStudy, LMStudyOutcome
    from ordinate.text.corpus import Corpus


def is_of_language_models(study: str, store: Path, data: Path | None, root: Path) -> bool:
    """Which kind a study is of. Refuses the options of the other kind, which would be ignored."""
    from ordinate.studies.lm.study_file import is_lm_study

    if is_lm_study(study):
        if store != RUNS:
            raise InputError(f"{study} is of language models, which have no --store {store}: name --checkpoints")
        return True
    if data is not None or root != shared.CHECKPOINTS:
        raise InputError(f"--data and --checkpoints are for studies of language models, which {study} is not")
    return False


def run(study: str, workers: int | None, data: Path | None, root: Path, *, dry_run: bool, as_json: bool) -> None:
    """Do the missing runs, then report."""
    from ordinate.cli.lm.running import carry_out, default_workers
    from ordinate.core.extras import require_extra
    from ordinate.report.lm_comparison import render, show
    from ordinate.studies.lm.study_file import load

    require_extra("report")
    found = load(study)
    corpus = _corpus(found, data)
    again = _again(found, data, root)
    outcome, failed = carry_out(found, corpus, root, "cpu", default_workers(workers), again, dry_run=dry_run)
    if outcome is None:
        return
    if as_json:
        print(render(outcome, "json"), end="")
    else:
        show(outcome, console())
    if failed:
        raise typer.Exit(1)


def report(study: str, output: Path | None, form: str | None, data: Path | None, root: Path) -> None:
    """What is in the checkpoints, else what came with the program."""
    from ordinate.report.lm_comparison import render, show
    from ordinate.report.output import deliver
    from ordinate.studies.lm.study_file import load

    outcome = _outcome(load(study), data, root)
    if form is None and output is not None:
        form = output.suffix.removeprefix(".") or "html"
    if form is None:
        show(outcome, console())
    else:
        deliver([render(outcome, form)], output)


def status(study: str, data: Path | None, root: Path) -> list[dict[str, str | int]]:
    """How far each comparison is, as plain data."""
    from ordinate.studies.lm.study_file import load

    outcome = _outcome(load(study), data, root, shipped=False)
    rows: list[dict[str, str | int]] = []
    for part in outcome.parts:
        runs, missing = len(part.found.comparison.distinct_runs), part.found.missing
        stage = "done" if not missing else "runs"
        rows.append({"part": part.part.name, "done": runs - missing, "runs": runs, "stage": stage})
    return rows


def _outcome(study: "LMStudy", data: Path | None, root: Path, *, shipped: bool = True) -> "LMStudyOutcome":
    """Without any prepared text, only what came with the program."""
    from ordinate.studies.lm.shipped import Shipped
    from ordinate.studies.lm.stored_runs import Checkpoints, Records
    from ordinate.studies.lm.study import study_outcome

    own = Checkpoints(root)
    own.check()
    try:
        fingerprint, prepare = _corpus(study, data).fingerprint, ""
    except InputError:
        if data is not None:
            raise
        fingerprint, prepare = "", "ordinate lm prepare && "
    sources: list[Records] = [own, *([Shipped()] if shipped else [])]
    return study_outcome(study, fingerprint, sources, prepare + _again(study, data, root))


def _corpus(study: "LMStudy", data: Path | None) -> "Corpus":
    return shared.find_corpus(data, study.parts[0].comparison("").text_vocabulary)


def _again(study: "LMStudy", data: Path | None, root: Path) -> str:
    words = ["ordinate", "study", "run", study.typed]
    words += [] if data is None else ["--data", str(data)]
    words += [] if root == shared.CHECKPOINTS else ["--checkpoints", str(root)]
    return shlex.join(words)
