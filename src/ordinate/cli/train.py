"""`ordinate train`: one run."""

import json
import sys
from typing import TYPE_CHECKING

import typer

from ordinate.cli.options import RUNS, AsJson, SettingsFile, StoreFolder, read_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ordinate.cli.progress import Bar
    from ordinate.results.run_result import RunResult
    from ordinate.training import Progress, RunConfig


def run(
    task: str = typer.Argument(help="A task: k_back, or with parameters k_back(k=5,mode=match)."),
    settings: list[str] = typer.Argument(None, metavar="[KEY=VALUE ...]", help="Settings, as in lr=0.003 layers=4."),
    encoding: str = typer.Option(..., "--encoding", "-e", help="An encoding: rope, rope(base=500000), segment+t5."),
    store: StoreFolder = RUNS,
    file: SettingsFile = None,
    as_json: AsJson = False,
    dry_run: bool = typer.Option(False, "--dry-run", help="Show the resolved configuration and stop."),
) -> None:
    """Train one model on one task, score it on frozen sets in and out of distribution, and keep all of it."""
    from ordinate.cli.progress import Bar
    from ordinate.core.config import to_dict
    from ordinate.results.schema import write
    from ordinate.store import open_store
    from ordinate.training import resolve, train

    given = read_settings(file, settings, ("task", "encoding"))
    config = resolve(given | {"task": task, "encoding": encoding})
    runs = open_store(store)
    runs.check_place()
    if dry_run:
        done = runs.run(config.id).state if runs.run(config.id).folder.exists() else "not started"
        print(json.dumps({"run": config.id, "state": done, **to_dict(config)}, indent=1))
        return
    before = runs.run(config.id)
    state = before.state
    if not before.done:
        runs.check_writable()
    where = "is being done by another process: waiting" if state == "running" else f"in {before.folder}"
    print(f"run {config.id} {'is done already' if before.done else where}", file=sys.stderr)
    try:
        with Bar() as bar:
            train(config, runs, lambda now: _tell(bar, config, now))
    except KeyboardInterrupt:
        print("ordinate: interrupted; start again to go on", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(write(before.result), indent=1))
    else:
        show_result(before.result, config)


def _tell(bar: "Bar", config: "RunConfig", now: "Progress") -> None:
    """A line for each point of the learning curve where there is no terminal."""
    named, share = f"{config.task} with {config.model.encoding}", now.step / now.steps
    if now.evaluating:
        bar.draw(named, share, "scoring, and measuring baselines if they are new")
        return
    text = f"loss {now.loss:.3f}  accuracy {now.accuracy:.1%}  {now.seconds_left:.0f} s left"
    bar.draw(named, share, f"{now.step}/{now.steps}  {text}")
    if now.validation is not None:
        bar.say(f"step {now.step}/{now.steps}  validation {now.validation:.4g}  {text}")


def show_result(result: "RunResult", config: "RunConfig", console: "Console | None" = None) -> None:
    """The run's row of the summary, its scores by length beside the baselines, and remarks."""
    from rich.console import Console
    from rich.text import Text

    from ordinate.report.terminal import table
    from ordinate.studies.study_analysis import analyze_run

    console = console or Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False)
    named = config.model.encoding if isinstance(config.model.encoding, str) else ", ".join(config.model.encoding)
    console.print(Text.assemble("\n", (config.task, "bold"), " with ", (named, "bold"), f", seed {config.seed}"))
    console.print(table(analyze_run(result, named, config.seed, config.steps)), "")
    console.print(_table(result))
    for line in _remarks(result, config):
        console.print(line)


_READERS = {"chance": "chance", "majority": "majority", "position_only": "position", "bag_of_tokens": "bag of tokens"}


def _table(result: "RunResult") -> "Table":
    from rich.table import Table

    from ordinate.statistics.observations import SPLIT_NAMES
    from ordinate.statistics.words import Word

    scored, rows, words = result.bar is not None, result.evaluation, result.words
    table = Table(box=None, pad_edge=False, header_style="bold")
    apart = any("accuracy_beyond" in row.groups for row in rows)
    against = ("floor", "verdict") if scored else ("best baseline",)
    against = ("past trained", *against) if apart else against
    for column in ("set", "length", "accuracy", "exact", "loss", *against):
        table.add_column(column, justify="left" if column in ("set", "verdict") else "right", no_wrap=True)
    for row in rows:
        word, beyond = words[row.key], row.split in ("ood", "shift")
        # A run that did not learn the task has nothing to report beyond it; the file keeps the numbers.
        hidden = scored and beyond and word not in (Word.SOLVES, Word.PARTIAL, Word.FITS)
        cells = [SPLIT_NAMES[row.split], str(row.length)]
        cells += ["-"] * 3 if hidden else [_percent(row.accuracy), _percent(row.exact), _number(row.loss)]
        if apart:
            late = row.groups.get("accuracy_beyond")
            cells.append("" if late is None else "-" if hidden else _percent(late))
        cells += [_percent(row.floor), str(word)] if scored else [_number(row.floor)]
        table.add_row(*cells)
    return table


def _remarks(result: "RunResult", config: "RunConfig") -> list[str]:
    """What the table cannot say."""
    from ordinate.statistics.alarms import oversized

    scored, inside, lines = result.bar is not None, result.in_distribution, []
    if not scored:
        lines.append("Scored by loss: no floor to pass, no words. Lower is better.")
        lines.append(", ".join(f"{name.replace('_', ' of ')} {value:.4f}" for name, value in inside.groups.items()))
    elif not result.diverged:
        lines.append(_learned(result, config))
    shown = _percent if scored else _number
    readers = ", ".join(f"{name} {shown(getattr(inside, key))}" for key, name in _READERS.items())
    lines.append(f"Without an encoding, at length {inside.length}: {readers}.")
    embedding, added = result.norms.embedding_norm, result.norms.encoding_norm
    if added and embedding:
        lines.append(f"At the start, what the encoding adds is {added / embedding:.2g} times as large as the tokens.")
    if oversized(added, embedding):
        lines.append("Mind: so large a difference may decide the result by itself; size=1 matches them.")
    return [*lines, f"One seed: preliminary. {result.parameters:,} parameters, {result.seconds:.0f} s."]


def _learned(result: "RunResult", config: "RunConfig") -> str:
    """When the task was learned, and how far it carries."""
    from ordinate.statistics.length_curve import Point, crossing

    at, steps, bar, trained = result.learned_at, result.steps, result.bar or 0.0, max(config.test_lengths)
    scores = sorted(Point(row.length, row.score) for row in result.evaluation if row.split in ("id", "ood"))
    end = crossing(scores, bar)
    if not end.length:
        return f"Not learned: below {bar:.0%} after {steps} steps, so scores beyond the trained length mean nothing."
    when = f"at step {at}" if at else "in its last steps"
    far = f"{'at least ' * end.censored}{end.length / trained:.3g} times"
    return f"Learned (at least {bar:.0%} in distribution) {when}, {steps} in all; holds to {far} {trained}."


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:.4f}"  # + 0.0: no minus before a zero
