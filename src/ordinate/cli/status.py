"""`ordinate status`: the runs of a store."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ordinate.core.rules import RULES

if TYPE_CHECKING:
    from ordinate.store import Run

ROWS = 2  # raised when `describe` says something else


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
    found, damaged, table = [], [], RowCache(runs, ROWS)
    for item in runs.runs():
        try:
            found.append(table.row(item, describe))
        except (InputError, KeyError, TypeError) as error:  # one damaged run must not hide the others
            damaged.append(str(error) if isinstance(error, InputError) else f"{item.folder} is damaged: {error!r}")
    table.keep()
    for problem in damaged:
        print(f"ordinate: {problem}", file=sys.stderr)
    if as_json:
        print(json.dumps(found, indent=1))
    elif found:
        _print(found)
    elif not damaged:
        print(f"No runs in {store} yet: start one with  ordinate train k_back --encoding rope", file=sys.stderr)
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


def describe(item: "Run") -> dict[str, Any]:
    """One run as plain data."""
    config, state = item.config, item.state
    encoding = config["model"]["encoding"]
    named = encoding if isinstance(encoding, str) else ", ".join(encoding)
    row = {
        "run": item.id, "task": config["task"], "encoding": named,
        "seed": config["seed"], "rules": config.get("rules", 1), "state": state, "steps": config["steps"],
        "inside": None, "outside": [],
    }  # fmt: skip
    if state != "done":
        return row | {"step": item.step, "error": item.error}
    from ordinate.statistics.verdict import words_of

    result = item.result
    words = words_of(result["evaluation"], result["bar"], result["status"] == "diverged")
    inside = [r for r in result["evaluation"] if r["split"] == "id"]
    judged = [row | {"verdict": word or ""} for row, word in zip(result["evaluation"], words, strict=True)]
    outside = [row for row in judged if row["split"] in ("ood", "shift")]
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
