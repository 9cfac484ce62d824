"""`ordinate list`: the encodings, the tasks, the studies, the comparisons or the lessons."""

import json
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, Option

from ordinate.cli.console import console
from ordinate.cli.options import RUNS, AsJson
from ordinate.core.errors import InputError, brief, plugin_errors

if TYPE_CHECKING:
    from rich.text import Text


class Kind(StrEnum):
    encodings = "encodings"
    tasks = "tasks"
    studies = "studies"
    comparisons = "comparisons"
    lessons = "lessons"


def run(
    kind: Kind = Argument(help="What to list."),
    as_json: AsJson = False,
    store: Path | None = Option(None, "--store", help="Folder of the runs, for comparisons (default: runs)."),
) -> None:
    """List all encodings, all tasks, the studies that come with the program, the comparisons that were made, or the
    lessons of the app.

    A comparison is shown by `ordinate report NAME`, also one that came with the program.
    """
    if kind is Kind.comparisons:
        _comparisons(store or RUNS, as_json)
        return
    if store is not None:
        raise InputError(f"--store {store} has comparisons, and {kind} come with the program: leave it out")
    if kind is Kind.studies:
        _studies(as_json)
        return
    if kind is Kind.lessons:
        _lessons(as_json)
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
    from ordinate.studies.lm import study_file as lm_study_file
    from ordinate.studies.study_file import titles

    found = dict(sorted((titles() | lm_study_file.titles()).items()))
    if as_json:
        print(json.dumps([{"name": name, "question": question} for name, question in found.items()], indent=1))
        return
    out, width = console(160), max(map(len, found))
    for name, question in found.items():
        out.print(f"{name.ljust(width)}  {question}", no_wrap=True, overflow="ellipsis")


def _lessons(as_json: bool) -> None:
    """The question of each, in order; `ordinate app` has them under Learn."""
    from ordinate import lessons

    every = lessons.every()
    if as_json:
        facts = [
            {"name": own.name, "number": own.number, "title": own.title, "question": own.question} for own in every
        ]
        print(json.dumps(facts, indent=1))
        return
    rows = [{"lesson": own.name, "title": f"{own.number}. {own.title}", "question": own.question} for own in every]
    for line in _lines(rows):
        console(160).print(line, no_wrap=True, overflow="ellipsis", highlight=False)


def _comparisons(folder: Path, as_json: bool) -> None:
    """The newest of the store first, then those that came with the program."""
    from ordinate.store import open_store
    from ordinate.store.examples import open_examples
    from ordinate.studies.study_list import study_rows

    own = open_store(folder)
    own.check_place()
    found, damaged = [], []
    for store in (own, open_examples()):
        rows, problems = study_rows(store)
        found += [row.as_dict() | {"shipped": store is not own} for row in rows]
        damaged += problems
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        _print_comparisons(found)
    for problem in damaged:
        print(f"ordinate: {brief(problem)}", file=sys.stderr)
    if damaged:
        raise typer.Exit(1)


def _print_comparisons(found: list[dict[str, Any]]) -> None:
    """Each with its verdicts below."""
    from rich.text import Text

    def verdicts(item: dict[str, Any]) -> "Iterator[Text]":
        for task, sentence in item["verdicts"].items():
            yield Text(f"{task}: {sentence}" if len(item["verdicts"]) > 1 else sentence)

    _print_rows(found, _comparison, verdicts)


def _comparison(item: dict[str, Any]) -> dict[str, str]:
    runs = "" if item["state"] == "finished" else f" ({item['done']} of {item['runs']} runs)"
    return {
        "comparison": item["name"],
        "id": item["id"],
        "state": ("shipped" if item["shipped"] else item["state"]) + runs,
        "started": "" if item["shipped"] else item["started"].replace("T", " ")[:16],
        "encodings": str(len(item["encodings"])),
        "seeds": str(item["seeds"]),
        "note": item["note"].replace("\n", " ")[:40],
    }


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
    from rich.text import Text

    def example(item: dict[str, Any]) -> "Iterator[Text]":
        for line in item["example"].splitlines():
            yield Text(line, no_wrap=True, overflow="ellipsis")

    _print_rows(found, _task, example)


def _print_rows(
    found: list[dict[str, Any]],
    cells: Callable[[dict[str, Any]], dict[str, str]],
    below: "Callable[[dict[str, Any]], Iterator[Text]]",
) -> None:
    """A row for each item, and what stands below it, indented."""
    from rich.padding import Padding

    header, *lines = _lines([cells(item) for item in found])
    out = console(160)
    out.print(header, style="bold", no_wrap=True, overflow="ellipsis")
    for item, line in zip(found, lines, strict=True):
        out.print(line, no_wrap=True, overflow="ellipsis")
        for text in below(item):
            out.print(Padding(text, (0, 0, 0, 4), style="dim", expand=False))


def _task(item: dict[str, Any]) -> dict[str, str]:
    return {
        "task": item["name"],
        "family": item["family"],
        "form": item["form"],
        "metric": item["metric"],
        "trained at": "-".join(str(n) for n in sorted(set(item["train_lengths"]))),
        "tested to": str(max(item["evaluation_lengths"])),
    }
