"""`python -m benchmarks [PART ...] [--json FILE] [--rounds N] [--tiny]`: all parts unless some are named."""

import argparse
import json
import platform
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Row

PARTS = (
    "step",
    "training",
    "decode",
    "memory",
    "study",
    "cluster",
    "report",
    "store",
    "analyze",
    "tokenize",
    "lm",
    "lm_eval",
)


@dataclass(frozen=True)
class Options:
    parts: list[str]
    json: Path | None
    rounds: int | None
    tiny: bool


def options() -> Options:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int)
    parser.add_argument(
        "--tiny", action="store_true", help="every part at sizes that take seconds: ratios mean nothing"
    )
    given = parser.parse_args()
    return Options(given.parts or list(PARTS), given.json, 1 if given.tiny else given.rounds, given.tiny)


def show(console: Console, title: str, rows: list[Row]) -> None:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("what", "against", "ratio", "spread", "required", "goal", ""):
        table.add_column(column)
    for row in rows:
        spread = f"{row.low:.3g} to {row.high:.3g}" if row.high > row.low else ""
        table.add_row(row.what, row.against, f"{row.ratio:.3g}", spread, row.required, row.goal, row.verdict)
    console.print(table)


def main() -> None:
    chosen, console = options(), Console()
    results: dict[str, list[dict[str, object]]] = {}
    for part in chosen.parts:
        run = import_module(f"benchmarks.{part}").run
        sizes = {"tiny": chosen.tiny} | ({"rounds": chosen.rounds} if chosen.rounds else {})
        for title, rows in run(**sizes).items():
            show(console, title, rows)
            results[title] = [row.as_dict() for row in rows]
    if chosen.json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "torch": torch.__version__}
        chosen.json.write_text(json.dumps({"machine": machine, "results": results}, indent=1))


if __name__ == "__main__":
    main()
