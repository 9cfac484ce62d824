"""`ordinate status`: the runs of a store."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ordinate.store import Run


def run(
    store: Path = typer.Option(Path("runs"), "--store", help="Folder of the runs."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """List the runs of a store: what they are, how far, and what came out."""
    from ordinate.core.errors import InputError
    from ordinate.store import open_store

    if store.exists() and not store.is_dir():
        raise InputError(f"{store} is a file, not a folder of runs")
    found, damaged = [], []
    for item in open_store(store).runs():
        try:
            found.append(describe(item))
        except (InputError, KeyError, TypeError) as error:  # one damaged run must not hide the others
            damaged.append(str(error) if isinstance(error, InputError) else f"{item.folder} is damaged: {error!r}")
    for problem in damaged:
        print(f"ordinate: {problem}", file=sys.stderr)
    if as_json:
        print(json.dumps(found, indent=1))
    elif found:
        _table(found)
    elif not damaged:
        print(f"No runs in {store} yet: start one with  ordinate train k_back --encoding rope", file=sys.stderr)
    if damaged:
        raise typer.Exit(1)


def _table(found: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "task", "encoding", "seed", "state", "step", "in dist.", "out of distribution"):
        table.add_column(column, no_wrap=True, min_width=12 if column == "run" else None)
    for item in found:
        outside = "  ".join(_outside(o) for o in item["outside"])
        table.add_row(
            item["run"], item["task"], item["encoding"], str(item["seed"]), item["state"],
            f"{item['step']}/{item['steps']}", _score(item["inside"]), outside,
        )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 160, highlight=False, markup=False).print(table)


def describe(item: "Run") -> dict[str, Any]:
    """One run as plain data."""
    config, state = item.config, item.state
    encoding = config["model"]["encoding"]
    named = encoding if isinstance(encoding, str) else ", ".join(encoding)
    row = {
        "run": item.id, "task": config["task"], "encoding": named,
        "seed": config["seed"], "state": state, "steps": config["steps"], "inside": None, "outside": [],
    }  # fmt: skip
    if state != "done":
        return row | {"step": item.step}
    result = item.result
    inside = [r for r in result["evaluation"] if r["split"] == "id"]
    outside = [r for r in result["evaluation"] if r["split"] in ("ood", "shift")]
    return row | {
        "state": "diverged" if result["status"] == "diverged" else "done",
        "step": result["steps"],
        "inside": inside[-1]["score"],
        "outside": [{k: r.get(k, "") for k in ("split", "length", "score", "verdict")} for r in outside],
    }


def _outside(row: dict[str, Any]) -> str:
    """A score out of distribution, with its word; only a run that fitted has one to report."""
    name = f"{row['length']}" if row["split"] == "ood" else f"{row['length']} shifted"
    shown = f" {_score(row['score'])}" if row["verdict"] in ("solves", "partial", "fits", "") else ""
    return f"{name}:{shown} {row['verdict']}".rstrip()


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
