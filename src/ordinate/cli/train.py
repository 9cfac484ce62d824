"""`ordinate train`: one run."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ordinate.cli.settings import read_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ordinate.training import Progress, RunConfig


def run(
    task: str = typer.Argument(help="A task: k_back, or with parameters k_back(k=5,mode=match)."),
    settings: list[str] = typer.Argument(None, metavar="[KEY=VALUE ...]", help="Settings, as in lr=0.003 layers=4."),
    encoding: str = typer.Option(..., "--encoding", "-e", help="An encoding: rope, rope(base=500000), segment+t5."),
    store: Path = typer.Option(Path("runs"), "--store", help="Folder of the runs."),
    file: Path | None = typer.Option(None, "--file", "-f", help="A TOML file of settings; KEY=VALUE goes on top."),
    as_json: bool = typer.Option(False, "--json", help="The result as one JSON document on stdout."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show the resolved configuration and stop."),
) -> None:
    """Train one model on one task, score it on frozen sets in and out of distribution, and keep all of it."""
    from ordinate.core.config import to_dict
    from ordinate.store import open_store
    from ordinate.training import resolve, train

    given = read_settings(file, settings, ("task", "encoding"))
    config = resolve(given | {"task": task, "encoding": encoding})
    runs = open_store(store)
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
        with _Display(config) as display:
            train(config, runs, display.show)
    except KeyboardInterrupt:
        print("ordinate: interrupted; start again to go on", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(before.result, indent=1))
    else:
        show_result(before.result, config)


class _Display:
    """A bar on a terminal, a line for each point of the learning curve elsewhere; all on stderr."""

    def __init__(self, config: "RunConfig") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        self.config, self.console = config, Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[now]}"),
        )
        self.bar = Bar(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.line = self.bar.add_task(f"{config.task} with {config.model.encoding}", total=config.steps, now="")

    def __enter__(self) -> "_Display":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def show(self, now: "Progress") -> None:
        left = f"{now.seconds_left:.0f} s left"
        if now.evaluating:
            self.bar.update(self.line, completed=now.step, now="scoring, and measuring baselines if they are new")
            return
        text = f"loss {now.loss:.3f}  accuracy {now.accuracy:.1%}  {left}"
        self.bar.update(self.line, completed=now.step, now=text)
        if now.validation is not None and not self.console.is_terminal:
            print(f"step {now.step}/{now.steps}  validation {now.validation:.4g}  {text}", file=sys.stderr, flush=True)


def show_result(result: dict[str, Any], config: "RunConfig", console: "Console | None" = None) -> None:
    """Scores by length with what they must be seen against."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False)
    named = config.model.encoding if isinstance(config.model.encoding, str) else ", ".join(config.model.encoding)
    console.print(Text.assemble("\n", (config.task, "bold"), " with ", (named, "bold"), f", seed {config.seed}"))
    console.print(_table(result))
    for line in _remarks(result):
        console.print(line)


_NAMES = {"valid": "validation", "id": "in distribution", "ood": "longer", "shift": "shifted"}
_READERS = {"chance": "chance", "majority": "majority", "position_only": "position", "bag_of_tokens": "bag of tokens"}


def _table(result: dict[str, Any]) -> "Table":
    from rich.table import Table

    scored = result["metric"] != "loss"
    table = Table(box=None, pad_edge=False, header_style="bold")
    apart = any("accuracy_beyond" in row["groups"] for row in result["evaluation"])
    against = ("floor", "normalised", "verdict") if scored else ("best baseline",)
    against = ("past trained", *against) if apart else against
    for column in ("set", "length", "accuracy", "exact", "loss", *against):
        table.add_column(column, justify="left" if column in ("set", "verdict") else "right", no_wrap=True)
    for row in result["evaluation"]:
        # Out of distribution, a run that did not fit has nothing to report; the file keeps the numbers.
        hidden = scored and not result["fitted"] and row["split"] in ("ood", "shift")
        cells = [_NAMES[row["split"]], str(row["length"])]
        cells += ["-"] * 3 if hidden else [_percent(row["accuracy"]), _percent(row["exact"]), _number(row["loss"])]
        if apart:
            late = row["groups"].get("accuracy_beyond")
            cells.append("" if late is None else "-" if hidden else _percent(late))
        if scored:
            cells += [_percent(row["floor"]), "-" if hidden else _number(row["normalised"]), _verdict(row, result)]
        else:
            cells.append(_number(row["floor"]))
        table.add_row(*cells)
    return table


def _remarks(result: dict[str, Any]) -> list[str]:
    """What the table cannot say."""
    scored, lines = result["metric"] != "loss", []
    if not scored:
        lines.append("Scored by loss: no floor to pass, no words. Lower is better.")
    elif result["status"] != "diverged":
        gate = "passed" if result["fitted"] else "not passed: scores out of distribution mean nothing"
        at = result["learnt_at"]
        learnt = f"learnt at step {at}" if at else f"not learnt in {result['steps']} steps"
        lines.append(f"Gate ({result['bar']:.0%} in distribution) {gate}; {learnt}, {result['steps']} steps in all.")
    for row in result["evaluation"]:
        if row["split"] == "id" and row["groups"] and not scored:
            lines.append(", ".join(f"{name.replace('_', ' of ')} {value:.4f}" for name, value in row["groups"].items()))
        if result["fitted"] and row.get("gap_accuracy") is not None:
            gap = f"{100 * row['gap_accuracy']:.1f} points of accuracy, {row['gap_loss']:.4f} of loss"
            lines.append(f"Gap, {_NAMES[row['split']]} at {row['length']}: {gap}.")
    for row in result["evaluation"]:
        if row["split"] in ("id", "ood"):
            shown = _percent if scored else _number
            told = ", ".join(f"{name} {shown(row[key])}" for key, name in _READERS.items())
            lines.append(f"Baselines at {row['length']}: {told}.")
    size, change = result["norms"]["embedding_norm"], result["norms"]["encoding_norm"]
    lines.append(f"At the start, token embeddings have norm {size:.2f} and the encoding changes them by {change:.2f}.")
    if change > 5 * size:
        lines.append(
            f"Mind: the encoding is {change / size:.0f} times as large; embedding_std sets the size of embeddings."
        )
    seconds = result["timing"]["seconds"]
    return [*lines, f"One seed: preliminary. {result['parameters']:,} parameters, {seconds:.0f} s."]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:.4f}"  # + 0.0: no minus before a zero


def _verdict(row: dict[str, Any], result: dict[str, Any]) -> str:
    if row["verdict"] != "did not fit":
        return str(row["verdict"])
    inside = [r["score"] for r in result["evaluation"] if r["split"] == "id"]
    return f"did not fit ({inside[-1]:.2f})"
