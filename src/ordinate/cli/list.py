"""`ordinate list`: what there is."""

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import typer


class Kind(StrEnum):
    """What can be listed."""

    encodings = "encodings"
    tasks = "tasks"


def run(
    kind: Kind = typer.Argument(help="What to list."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """List the encodings or the tasks there are."""
    from ordinate import encodings, tasks
    from ordinate.core.errors import InputError

    source, row = (encodings, _encoding) if kind is Kind.encodings else (tasks, _task)
    found, broken = [], []
    for name in source.names():
        try:
            found.append(source.describe(name))
        except InputError as error:  # a plug-in that is not right must not hide the others
            broken.append(str(error))
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        _table(found, row)
    for problem in broken:
        print(f"ordinate: {problem}", file=sys.stderr)
    if broken:
        raise typer.Exit(1)


def _table(found: list[dict[str, Any]], row: Callable[[dict[str, Any]], dict[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in row(found[0]):
        whole = max(len(item["name"]) for item in found) if column == next(iter(row(found[0]))) else None
        table.add_column(column, no_wrap=column != "example", min_width=whole)
    for item in found:
        table.add_row(*row(item).values())
    Console(width=None if sys.stdout.isatty() else 160, markup=False, highlight=False).print(table)


def _encoding(item: dict[str, Any]) -> dict[str, str]:
    reads = "text" if item["axes"] == [1] else "grids" if 1 not in item["axes"] else "any"
    paper = item["paper"]
    return {
        "encoding": item["name"],
        "family": item["family"],
        "past range": item["past"],
        "shift inv.": "yes" if item["shift_invariant"] else "no",
        "trained": "yes" if item["trained"] else "no",
        "reads": reads + (", causal" if item["causal_only"] else ""),
        "paper": "" if paper is None else f"{paper['authors'][0].split()[-1]} {paper['year']}",
    }


def _task(item: dict[str, Any]) -> dict[str, str]:
    lengths = item["train_lengths"]
    return {
        "task": item["name"],
        "family": item["family"],
        "form": item["form"],
        "metric": item["metric"],
        "trained at": "-".join(str(n) for n in sorted(set(lengths))),
        "tested at": " ".join(str(n) for n in item["evaluation_lengths"]),
        "example": item["example"],
    }
