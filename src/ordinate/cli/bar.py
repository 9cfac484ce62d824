"""How far something long is: a bar on a terminal, lines elsewhere; all on stderr."""

import sys


class Bar:
    """One bar at a time. It goes away in the end."""

    def __init__(self, *, shown: bool = True) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        self.lines = shown and not console.is_terminal
        name, now = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[now]"))
        off = not (shown and console.is_terminal)
        self.progress = Progress(name, BarColumn(), now, console=console, transient=True, disable=off)
        self.task = self.progress.add_task("", total=1.0, now="")

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def draw(self, name: str, share: float, now: str) -> None:
        """What is under way, how much of it is done, and how it goes."""
        self.progress.update(self.task, description=name, completed=share, now=now)

    def say(self, line: str) -> None:
        """The same where there is no terminal; callers choose how often."""
        if self.lines:
            print(line, file=sys.stderr, flush=True)
