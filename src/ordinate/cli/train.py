"""`ordinate train`: one run."""

import json
import sys
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from ordinate.cli.console import console, say, table
from ordinate.cli.options import RUNS, AsJson, SettingsFile, StoreFolder, read_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ordinate.cli.progress import Bar
    from ordinate.results.run_result import RunResult
    from ordinate.training import Progress, RunConfig


def run(
    task: str = Argument(help="A task: k_back, or with parameters k_back(k=5,mode=match)."),
    settings: list[str] = Argument(None, metavar="[KEY=VALUE ...]", help="Settings, as in lr=0.003 layers=4."),
    encoding: str = Option(..., "--encoding", "-e", help="An encoding: rope, rope(base=500000), segment+t5."),
    store: StoreFolder = RUNS,
    file: SettingsFile = None,
    as_json: AsJson = False,
    dry_run: bool = Option(False, "--dry-run", help="Show the resolved configuration and stop."),
) -> None:
    """Train one model on one task, score it in and out of distribution, and store the run."""
    from ordinate.cli.progress import Bar
    from ordinate.core.config import to_dict
    from ordinate.results.serialize import write
    from ordinate.store import open_store
    from ordinate.training import resolve, train
    from ordinate.training.interruption import stop_requested

    given = read_settings(file, settings, ("task", "encoding"))
    config = resolve(given | {"task": task, "encoding": encoding})
    runs = open_store(store)
    runs.check_place()
    stored = runs.run(config.id)
    if dry_run:
        state = stored.state if stored.folder.exists() else "not started"
        print(json.dumps({"run": config.id, "state": state, **to_dict(config)}, indent=1))
        return
    if not stored.done:
        runs.check_writable()
    where = {"done": "is done already", "running": "is being done by another process: waiting"}
    say(f"run {config.id} {where.get(stored.state, f'in {stored.folder}')}", stderr=True)
    try:
        with Bar() as bar, stop_requested(bar.announce) as stop:
            train(config, runs, lambda now: _show_progress(bar, config, now), stop)
    except KeyboardInterrupt as interrupted:
        saved = str(interrupted) or "what followed the last checkpoint is lost"  # a second Ctrl-C stops at once
        print(f"ordinate: stopped; {saved}; start again to resume", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(write(stored.result), indent=1))
    else:
        show_result(stored.result, config)


def _show_progress(bar: "Bar", config: "RunConfig", now: "Progress") -> None:
    """Draw the bar; without a terminal, print a line for each point of the learning curve."""
    named, share = f"{config.task} with {config.model.encoding}", now.step / now.steps
    if now.evaluating:
        bar.draw(named, share, "scoring, and measuring baselines if they are new")
        return
    text = f"loss {now.loss:.3f}  accuracy {now.accuracy:.1%}  {now.seconds_left:.0f} s left"
    bar.draw(named, share, f"{now.step}/{now.steps}  {text}")
    if now.validation is not None:
        bar.say(f"step {now.step}/{now.steps}  validation {now.validation:.4g}  {text}")


def show_result(result: "RunResult", config: "RunConfig", out: "Console | None" = None) -> None:
    """The run's row of the summary, its scores by length beside the baselines, and remarks."""
    from rich.text import Text

    from ordinate.report.terminal import left_out
    from ordinate.report.terminal import table as summary
    from ordinate.studies.study_analysis import analyze_run

    out = out or console(120)
    named = config.model.encoding if isinstance(config.model.encoding, str) else ", ".join(config.model.encoding)
    out.print(Text.assemble("\n", (config.task, "bold"), " with ", (named, "bold"), f", seed {config.seed}"))
    task = analyze_run(result, named, config.seed, config.steps)
    out.print(summary(task, out.width), left_out(task, out.width))
    out.print(_scores(result))
    for line in _remarks(result, config):
        out.print(line, soft_wrap=line.startswith("  "))  # a command stays on one line


_READERS = {"chance": "chance", "majority": "majority", "position_only": "position", "bag_of_tokens": "bag of tokens"}


def _scores(result: "RunResult") -> "Table":
    from ordinate.statistics.observations import SPLIT_NAMES

    scored, rows, words = result.bar is not None, result.evaluation, result.words
    apart = any("accuracy_beyond" in row.groups for row in rows)
    against = ["past trained"] * apart + (["floor", "verdict"] if scored else ["best baseline"])
    scores = table("set", "length", "accuracy", "exact", "loss", *against, left=("set", "verdict"))
    for row in rows:
        cells = [SPLIT_NAMES[row.split], str(row.length)]
        cells += [_percent(row.accuracy), _percent(row.exact), _number(row.loss)]
        if apart:
            late = row.groups.get("accuracy_beyond")
            cells.append("" if late is None else _percent(late))
        cells += [_percent(row.floor), str(words[row.key])] if scored else [_number(row.floor)]
        scores.add_row(*cells)
    return scores


def _remarks(result: "RunResult", config: "RunConfig") -> list[str]:
    """Sentences below the table."""
    from ordinate.statistics.alarms import oversized

    scored, inside, lines = result.bar is not None, result.in_distribution, []
    if not scored:
        lines.append("Scored by loss: no floor, no verdict. Lower is better.")
        lines.append(", ".join(f"{name.replace('_', ' of ')} {value:.4f}" for name, value in inside.groups.items()))
    else:
        lines += _learning(result, config)
    shown = _percent if scored else _number
    readers = ", ".join(f"{name} {shown(getattr(inside, key))}" for key, name in _READERS.items())
    lines.append(f"Without an encoding, at length {inside.length}: {readers}.")
    embedding, added = result.norms.embedding_norm, result.norms.encoding_norm
    if added and embedding:
        lines.append(f"At the start, what the encoding adds is {added / embedding:.2g} times as large as the tokens.")
    if oversized(added, embedding):
        lines.append("Mind: so large a difference may decide the result by itself; size=1 matches them.")
    return [*lines, f"One seed: preliminary. {result.parameters:,} parameters, {result.seconds:.0f} s."]


def _learning(result: "RunResult", config: "RunConfig") -> list[str]:
    """How training ended; how far what was learned holds, or what to do."""
    from ordinate.statistics.length_curve import Point, crossing
    from ordinate.statistics.phrases import capital, training_words
    from ordinate.statistics.words import Word

    run_end, bar, trained = result.training_end(), result.bar or 0.0, max(config.test_lengths)
    how = capital(training_words(run_end, bar))
    if run_end.learned:
        scores = sorted(Point(row.length, row.score) for row in result.evaluation if row.split in ("id", "ood"))
        end = crossing(scores, bar)
        far = f"{'at least ' * end.censored}{end.length / trained:.3g} times"
        return [f"{how}, {result.steps:,} in all (bar {bar:.0%} in distribution); holds to {far} {trained}."]
    if run_end.word is Word.DIVERGED:
        return [f"{how}. Lower the learning rate:", *_again(config, lr=_lower_rate(config))]
    line = f"{how}, bar {bar:.0%}: scores beyond the trained length are not ranked."
    if run_end.word is Word.LOST_AGAIN:
        return [f"{line} Lower the learning rate, or train longer."]
    return [f"{line} Give it more steps:", *_again(config, steps=2 * config.steps)]


def _again(config: "RunConfig", **changes: float) -> list[str]:
    """The command that does the run again with these settings; none where encodings differ by layer."""
    from ordinate.core.config import to_dict
    from ordinate.training import rerun_command

    command = rerun_command.command(to_dict(config), **changes)
    return [f"  {command}"] if command else []


def _lower_rate(config: "RunConfig") -> float:
    """A tenth, or the usual rate of the task if that is lower."""
    from ordinate.core.config import to_dict
    from ordinate.training import rerun_command

    usual = rerun_command.usual(to_dict(config)) or {}
    return min(config.lr / 10, float(usual.get("lr", config.lr)))


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:.4f}"  # + 0.0: no minus before a zero
