"""Consoles and tables for standard output. rich is imported on first use."""

import sys
from collections.abc import Collection
from contextlib import ContextDecorator
from threading import Timer
from typing import IO, TYPE_CHECKING

from ordinate.core.display import escaped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def say(*lines: str, stderr: bool = False) -> None:
    """Print lines. Names in them may come from anyone: a terminal must not obey their characters."""
    print("\n".join(map(escaped, lines)), file=sys.stderr if stderr else sys.stdout, flush=stderr)


class AtWork(ContextDecorator):
    """Tells a person at a terminal what a command does if it takes longer than one waits without wondering."""

    silence = 5.0  # seconds

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.timer = Timer(self.silence, say, [f"still at work: {self.what}"], {"stderr": True})
        self.timer.daemon = True
        if sys.stderr.isatty():
            self.timer.start()

    def __exit__(self, *error: object) -> None:
        self.timer.cancel()


def console(width: int = 140, file: IO[str] | None = None) -> "Console":
    """A console without markup. A terminal has its own width, other output this one."""
    from rich.console import Console

    return Console(file=file, width=None if (file or sys.stdout).isatty() else width, highlight=False, markup=False)


def table(*columns: str, left: Collection[str] = (), folded: str | None = None) -> "Table":
    """An empty table without borders. Columns are aligned right unless in `left`; long cells of `folded` wrap."""
    from rich.table import Table

    empty = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        empty.add_column(column, justify="left" if column in left else "right", no_wrap=column != folded)
        if column == folded:
            empty.columns[-1].overflow = "fold"
    return empty
