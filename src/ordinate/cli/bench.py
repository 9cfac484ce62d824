"""`ordinate bench`: what each encoding costs on this machine."""

import json
import sys
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, Option

from ordinate.cli.console import console, table
from ordinate.cli.options import AsJson, Encodings, read_settings
from ordinate.core.display import counted, duration
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.training.overhead import BenchSizes, Overhead


def run(
    settings: list[str] = Argument(
        None, metavar="[KEY=VALUE ...]", help="dim, heads, layers, batch, length, rounds, threads."
    ),
    encodings: Encodings = None,
    memory_length: int | None = Option(None, help="Sequence length of the memory measurement (default: 8192)."),
    quick: bool = Option(False, "--quick", help="Few repetitions and no memory measurement."),
    as_json: AsJson = False,
    as_markdown: bool = Option(False, "--markdown", help="Print the table as Markdown."),
) -> None:
    """Measure the cost of encodings relative to none: parameters, training step, memory, decoding, attention path."""
    from ordinate import encodings as registry
    from ordinate.core.parsing import split
    from ordinate.training.environment import describe
    from ordinate.training.overhead import check

    if as_json and as_markdown:
        raise InputError("--json and --markdown are two forms of one table: give one of them")
    sizes = _sizes(settings, memory_length, quick)
    if encodings is None:
        names = registry.names()
    else:
        named = [part.strip() for part in split(encodings, ",") if part.strip()]
        if not named:
            raise InputError("--encodings is empty: name some, or leave it out for all")
        names = check(named, sizes)
    rows, ended = _measure(names, sizes)
    machine = replace(describe(), threads=sizes.threads)
    document = {"machine": asdict(machine), "sizes": asdict(sizes), "rows": [asdict(row) for row in rows]}
    _print(document, as_json=as_json, as_markdown=as_markdown)
    if not ended:
        raise typer.Exit(130)


def _sizes(settings: list[str] | None, memory_length: int | None, quick: bool) -> "BenchSizes":
    from ordinate.core.config import build
    from ordinate.training.overhead import BenchSizes

    given = read_settings(None, settings, ())
    if memory_length is not None:
        if quick:
            raise InputError("--quick measures no memory: leave out --memory-length, or --quick")
        if "memory_length" in given:
            raise InputError(f"memory_length was given twice: leave memory_length={given['memory_length']} out")
        given["memory_length"] = memory_length
    return build(BenchSizes, dict(rounds=3, memory_length=0) if quick else {}, given)


def _measure(names: list[str], sizes: "BenchSizes") -> tuple[list["Overhead"], bool]:
    """The measurements, and whether all were taken before an interruption."""
    from ordinate.training.overhead import measure

    rows: list[Overhead] = []
    begin = time.monotonic()
    print(f"{counted(len(names), 'encoding')}, each in turns with none", file=sys.stderr, flush=True)
    try:
        for row in measure(names, sizes):
            rows.append(row)
            left = (time.monotonic() - begin) / len(rows) * (len(names) - len(rows))
            ahead = f"about {duration(left)} left" if left else "done"
            print(f"{len(rows)}/{len(names)}  {row.encoding}  {ahead}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"ordinate: interrupted after {len(rows)} of {len(names)} encodings", file=sys.stderr)
        return rows, False
    return rows, True


def _print(document: dict[str, Any], *, as_json: bool, as_markdown: bool) -> None:
    from ordinate.report.overhead import COLUMNS, about, cells, markdown, problems

    if as_json:
        print(json.dumps(document, indent=1))
        return
    if as_markdown:
        print(markdown(document), end="")
        return
    costs, out = table(*COLUMNS, left=("encoding", "path")), console()
    for row in document["rows"]:
        costs.add_row(*cells(row))
    out.print(costs)
    out.print(f"\n{about(document)}".replace("`", ""))
    for problem in problems(document):
        out.print(f"Not measured: {problem}")
