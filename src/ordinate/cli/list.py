"""`ordinate list`: the encodings, the tasks or the studies."""

import json
import sys
from enum import StrEnum
from typing import Any

import typer
from typer import Argument

from ordinate.cli.console import console
from ordinate.cli.options import AsJson
from ordinate.core.errors import InputError, brief, plugin_errors


class Kind(StrEnum):
    encodings = "encodings"
    tasks = "tasks"
    studies = "studies"


def run(kind: Kind = Argument(help="What to list."), as_json: AsJson = False) -> None:
    """List all encodings, all tasks, or the studies that come with the program."""
    if kind is Kind.studies:
        _studies(as_json)
        return
    from ordinate import encodings, tasks

    source, show = (encodings, _encodings) if kind is Kind.encodings else (tasks, _tasks)
    found, broken = [], []
    for name in source.names():
        try:
            with plugin_errors(f"{name} cannot be made"):
                found.append(source.describe(name))
        except InputError as error:  # a faulty plug-in must not hide the others
            broken.append(str(error) if name in str(error) else f"{name} cannot be made: {error}")
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        show(found)
    for problem in broken:
        print(f"ordinate: {brief(problem)}", file=sys.stderr)
    if broken:
        raise typer.Exit(1)


def _studies(as_json: bool) -> None:
    """The question of each."""
    from ordinate.studies.study_file import titles

    found = titles()
    if as_json:
        print(json.dumps([{"name": name, "question": question} for name, question in found.items()], indent=1))
        return
    out, width = console(160), max(map(len, found))
    for name, question in found.items():
        out.print(f"{name.ljust(width)}  {question}", no_wrap=True, overflow="ellipsis")


def _lines(rows: list[dict[str, str]]) -> list[str]:
    """The header and the rows, in aligned columns."""
    columns = {column: column for column in rows[0]}
    widths = {column: max(len(row[column]) for row in (columns, *rows)) for column in columns}
    return ["  ".join(row[column].ljust(widths[column]) for column in columns).rstrip() for row in (columns, *rows)]


def _encodings(found: list[dict[str, Any]]) -> None:
    """One heading per family, under columns that all share."""
    from ordinate.core.encoding import FAMILIES

    header, *lines = _lines([_encoding(item) for item in found])
    out = console(160)
    out.print(header, style="bold", no_wrap=True, overflow="ellipsis")
    for family in dict.fromkeys((*FAMILIES, *(item["family"] for item in found))):
        members = [line for item, line in zip(found, lines, strict=True) if item["family"] == family]
        if members:
            meaning = f": {FAMILIES[family]}" if family in FAMILIES else ""
            out.print(f"\n{family}{meaning}", style="bold")
        for line in members:
            out.print(line, no_wrap=True, overflow="ellipsis")


def _encoding(item: dict[str, Any]) -> dict[str, str]:
    reads = "text" if item["axes"] == [1] else "grids" if 1 not in item["axes"] else "any"
    paper = item["paper"]
    return {
        "encoding": item["name"],
        "beyond": item["extrapolation"],
        "shift inv.": "yes" if item["shift_invariant"] else "no",
        "trained": "yes" if item["trained"] else "no",
        "for": ("causal " if item["causal_only"] else "") + reads,
        "paper": "" if paper is None else f"{paper['authors'][0].split()[-1]} {paper['year']}",
    }


def _tasks(found: list[dict[str, Any]]) -> None:
    """Each with an example below."""
    header, *lines = _lines([_task(item) for item in found])
    out = console(160)
    out.print(header, style="bold", no_wrap=True, overflow="ellipsis")
    for item, line in zip(found, lines, strict=True):
        out.print(line, no_wrap=True, overflow="ellipsis")
        for part in item["example"].splitlines():
            out.print(f"    {part}", style="dim", no_wrap=True, overflow="ellipsis")


def _task(item: dict[str, Any]) -> dict[str, str]:
    return {
        "task": item["name"],
        "family": item["family"],
        "form": item["form"],
        "metric": item["metric"],
        "trained at": "-".join(str(n) for n in sorted(set(item["train_lengths"]))),
        "tested to": str(max(item["evaluation_lengths"])),
    }
