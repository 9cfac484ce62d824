"""`ordinate list`: what there is."""

import json
import sys
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
    from rich.console import Console
    from rich.table import Table

    from ordinate import encodings, tasks

    source, row = (encodings, _encoding) if kind is Kind.encodings else (tasks, _task)
    found = [source.describe(name) for name in source.names()]
    if as_json:
        print(json.dumps(found, indent=1))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in row(found[0]):
        table.add_column(column, no_wrap=column != "example")
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
