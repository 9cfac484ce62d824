"""`ordinate list`: what there is."""

import json
import sys
from enum import StrEnum

import typer


class Kind(StrEnum):
    """What can be listed."""

    encodings = "encodings"


def run(
    kind: Kind = typer.Argument(help="What to list."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """List the encodings there are, with what each does past the trained length."""
    from rich.console import Console
    from rich.table import Table

    from ordinate import encodings

    found = [encodings.describe(name) for name in encodings.names()]
    if as_json:
        print(json.dumps(found, indent=1))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("encoding", "family", "past range", "shift inv.", "trained", "reads", "paper"):
        table.add_column(column, no_wrap=True)
    for item in found:
        paper = item["paper"]
        reads = "text" if item["axes"] == [1] else "grids" if 1 not in item["axes"] else "any"
        table.add_row(
            item["name"], item["family"], item["past"], "yes" if item["shift_invariant"] else "no",
            "yes" if item["trained"] else "no", reads + (", causal" if item["causal_only"] else ""),
            "" if paper is None else f"{paper['authors'][0].split()[-1]} {paper['year']}",
        )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 160).print(table)
