"""`ordinate status`: the runs of a store."""

import json
import sys
from typing import Any

import typer

from ordinate.cli.options import RUNS, AsJson, StoreFolder
from ordinate.core.rules import RULES

# The parts of a run that are listed, as text and as JSON; `error` only for runs that are not done.
LISTED = ("run", "task", "encoding", "seed", "rules", "state", "steps", "inside", "outside", "step", "error")


def run(
    store: StoreFolder = RUNS,
    as_json: AsJson = False,
) -> None:
    """List the runs of a store: their settings, state and scores."""
    from ordinate.core.errors import InputError
    from ordinate.store import open_store
    from ordinate.store.overview import ROWS, overview
    from ordinate.store.table import RowCache

    if store.exists() and not store.is_dir():
        raise InputError(f"{store} is a file, not a folder of runs")
    runs = open_store(store)
    table = RowCache(runs, ROWS)
    rows, damaged = overview(runs, table)
    table.keep()
    runs_listed = [{key: row[key] for key in LISTED if key in row} for row in rows]
    for problem in damaged.values():
        print(f"ordinate: {problem}", file=sys.stderr)
    if as_json:
        print(json.dumps(runs_listed, indent=1))
    elif runs_listed:
        _print(runs_listed)
    elif not damaged:
        print(
            f"No runs in {store} yet: start one with  ordinate train k_back --encoding rope{runs.option}",
            file=sys.stderr,
        )
    if damaged:
        raise typer.Exit(1)


def _print(runs_listed: list[dict[str, Any]]) -> None:
    """Columns by hand: rich takes seconds for ten thousand rows."""
    rows = [["run", "task", "encoding", "seed", "state", "step", "in dist.", "out of distribution"]]
    for item in runs_listed:
        outside = "  ".join(_outside(o) for o in item["outside"])
        step = f"{item['step']}/{item['steps']}"
        old = f" (rules {item['rules']})" if item.get("rules", RULES) != RULES else ""
        named = [item["run"], item["task"], item["encoding"], str(item["seed"]), item["state"] + old]
        rows.append([*named, step, _score(item["inside"]), outside or item.get("error", "")])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    print("\n".join(lines))


def _outside(row: dict[str, Any]) -> str:
    """A score out of distribution, with its verdict; only a run that learned the task has a score to report."""
    from ordinate.store.overview import REPORTED

    name = f"{row['length']}" if row["split"] == "ood" else f"{row['length']} shifted"
    shown = f" {_score(row['score'])}" if row["verdict"] in REPORTED else ""
    return f"{name}:{shown} {row['verdict']}".rstrip()


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
