"""`ordinate status`: the runs of a store."""

import json
from typing import TYPE_CHECKING

import typer

from ordinate.cli.console import AtWork, say
from ordinate.cli.options import RUNS, AsJson, StoreFolder
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.results.run_summary import OutsideScore, RunSummary

LISTED = ("run", "task", "encoding", "seed", "state", "step", "steps", "inside", "outside", "error")  # as JSON


@AtWork("reading the runs")
def run(store: StoreFolder = RUNS, as_json: AsJson = False) -> None:
    """List the runs of a store: their settings, state and scores."""
    from ordinate.results.serialize import write
    from ordinate.store import open_store
    from ordinate.store.run_table import RunTable

    if store.exists() and not store.is_dir():
        raise InputError(f"{store} is a file, not a folder of runs")
    runs = open_store(store)
    table = RunTable(runs)
    rows, damaged = table.rows()
    table.save()
    for problem in damaged.values():
        say(f"ordinate: {problem}", stderr=True)
    if as_json:
        listed = [{key: value for key, value in write(row).items() if key in LISTED} for row in rows]
        print(json.dumps(listed, indent=1))
    elif rows:
        _print(rows)
    elif not damaged:
        start = f"ordinate train k_back --encoding rope{runs.option}"
        say(f"No runs in {store} yet: start one with  {start}", stderr=True)
    if damaged:
        raise typer.Exit(1)


def _print(runs: "list[RunSummary]") -> None:
    """Columns by hand: rich takes seconds for ten thousand rows."""
    rows = [["run", "task", "encoding", "seed", "state", "step", "in dist.", "out of distribution"]]
    for item in runs:
        outside = "  ".join(map(_outside, item.outside))
        about = [item.run, item.task, item.encoding, str(item.seed), item.state, f"{item.step}/{item.steps}"]
        rows.append([*about, _score(item.inside), outside or item.error])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print("\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows))


def _outside(row: "OutsideScore") -> str:
    """A score out of distribution, with its verdict; only a run that learned the task has a score to report."""
    from ordinate.store.run_table import REPORTED

    name = f"{row.length}" if row.split == "ood" else f"{row.length} shifted"
    shown = f" {_score(row.score)}" if row.verdict in REPORTED else ""
    return f"{name}:{shown} {row.verdict}".rstrip()


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
