"""`ordinate status`: the runs of a store."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from ordinate.core.rules import RULES
from ordinate.store.overview import REPORTED, ROWS, overview

# What is told of a run, to people and as JSON; `error` stands there for runs that are not done.
TOLD = ("run", "task", "encoding", "seed", "rules", "state", "steps", "inside", "outside", "step", "error")


def run(
    store: Path = typer.Option(Path("runs"), "--store", help="Folder of the runs."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """List the runs of a store: what they are, how far, and what came out."""
    from ordinate.core.errors import InputError
    from ordinate.store import open_store
    from ordinate.store.table import RowCache

    if store.exists() and not store.is_dir():
        raise InputError(f"{store} is a file, not a folder of runs")
    runs = open_store(store)
    table = RowCache(runs, ROWS)
    rows, damaged = overview(runs, table)
    table.keep()
    found = [{key: row[key] for key in TOLD if key in row} for row in rows]
    for problem in damaged.values():
        print(f"ordinate: {problem}", file=sys.stderr)
    if as_json:
        print(json.dumps(found, indent=1))
    elif found:
        _print(found)
    elif not damaged:
        print(
            f"No runs in {store} yet: start one with  ordinate train k_back --encoding rope{runs.option}",
            file=sys.stderr,
        )
    if damaged:
        raise typer.Exit(1)


def _print(found: list[dict[str, Any]]) -> None:
    """Columns by hand: a table of ten thousand rows must not take longer to draw than to read."""
    rows = [["run", "task", "encoding", "seed", "state", "step", "in dist.", "out of distribution"]]
    for item in found:
        outside = "  ".join(_outside(o) for o in item["outside"])
        step = f"{item['step']}/{item['steps']}"
        old = f" (rules {item['rules']})" if item.get("rules", RULES) != RULES else ""
        named = [item["run"], item["task"], item["encoding"], str(item["seed"]), item["state"] + old]
        rows.append([*named, step, _score(item["inside"]), outside or item.get("error", "")])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    print("\n".join(lines))


def _outside(row: dict[str, Any]) -> str:
    """A score out of distribution, with its word; only a run that fitted has one to report."""
    name = f"{row['length']}" if row["split"] == "ood" else f"{row['length']} shifted"
    shown = f" {_score(row['score'])}" if row["verdict"] in REPORTED else ""
    return f"{name}:{shown} {row['verdict']}".rstrip()


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
