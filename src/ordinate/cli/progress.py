"""Progress on stderr: a bar or a live table on a terminal, lines elsewhere."""

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from ordinate.core.display import duration, escaped
from ordinate.statistics.observations import range_name

if TYPE_CHECKING:
    from ordinate.results.run_result import RunResult
    from ordinate.store import Store
    from ordinate.studies.executor import Event, Executor
    from ordinate.studies.stages import Stage
    from ordinate.studies.study_state import StudyState
    from ordinate.training import Progress, RunConfig

_MARKS = {"done": ("●", "green"), "running": ("◐", "yellow"), "failed": ("✗", "red"), "waiting": ("·", "dim")}


class Bar:
    """One progress bar, removed when it ends."""

    def __init__(self, *, shown: bool = True) -> None:
        console = Console(stderr=True)
        self.shown, self.lines = shown, shown and not console.is_terminal
        name, now = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[now]"))
        off = not (shown and console.is_terminal)
        self.progress = RichProgress(name, BarColumn(), now, console=console, transient=True, disable=off)
        self.task = self.progress.add_task("", total=1.0, now="")

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def draw(self, name: str, share: float, now: str) -> None:
        """Update the name, the share that is done, and the latest numbers."""
        self.progress.update(self.task, description=name, completed=share, now=now)

    def say(self, line: str) -> None:
        """Print a line if stderr is not a terminal."""
        if self.lines:
            print(escaped(line), file=sys.stderr, flush=True)

    def announce(self, sentence: str) -> None:
        """Print a sentence above the bar."""
        if self.shown:
            self.progress.console.print(f"ordinate: {escaped(sentence)}", markup=False, highlight=False, soft_wrap=True)


class ComparisonDisplay:
    """Draws the stages and events of a comparison."""

    def __init__(self, store: "Store", executor: "Executor", seconds: float) -> None:
        self.store, self.executor, self.guess = (
            store,
            executor,
            seconds,
        )  # for one run, until some are done; 0: not known
        self.console = Console(stderr=True, highlight=False, markup=False)
        self.stage: Stage | None = None
        self.states: dict[str, str] = {}
        self.now: dict[str, Progress] = {}
        self.began: dict[str, float] = {}
        self.took: list[float] = []
        self.live = Live(console=self.console, refresh_per_second=4, transient=True, get_renderable=self._draw)

    def __enter__(self) -> "ComparisonDisplay":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.live.is_started:
            self.live.stop()

    def begin(self, state: "StudyState", stage: "Stage") -> None:
        missing = {config.id for config in stage.missing}
        self.states |= {c.id: "done" for c in stage.runs if c.id not in missing and c.id not in state.failed}
        self.states |= dict.fromkeys(missing, "waiting")
        self.stage = stage
        self._say(f"{stage.name}: {len(stage.missing)} runs to do, {self._left()}")

    def update(self, event: "Event") -> None:
        config = event.config
        if event.kind == "started":
            self.states[config.id], self.began[config.id] = "running", time.monotonic()
        elif event.kind == "progress" and event.progress is not None:
            self.now[config.id] = event.progress
        elif event.kind in ("done", "failed"):
            self.states[config.id] = event.kind
            self.now.pop(config.id, None)
            if event.kind == "done" and config.id in self.began:
                self.took.append(time.monotonic() - self.began[config.id])
            if not self.console.is_terminal:  # reading a result takes time
                how = event.error if event.kind == "failed" else outcome(self.store.run(config.id).result)
                self._say(f"[{self._count('done')}/{len(self.states)}] {_named(config)}  {how}  {self._left()}")
        elif event.kind == "elsewhere":
            self.states[config.id] = "running"
            self._say(f"{_named(config)}  is being done by another process")

    def _say(self, line: str) -> None:
        """Print a line if stderr is not a terminal."""
        if not self.console.is_terminal:
            print(escaped(line), file=sys.stderr, flush=True)

    def _count(self, state: str) -> int:
        return sum(found == state for found in self.states.values())

    def _left(self) -> str:
        """Time left, from the runs that are done; a running one counts by the share that is left."""
        each = sum(self.took) / len(self.took) if self.took else self.guess
        if not each:
            return "starting"
        under_way = sum(1 - now.step / now.steps for now in self.now.values())
        waiting = self._count("waiting") + self._count("running") - len(self.now) + under_way
        left = f"{duration(each * waiting / max(1, self.executor.workers_wanted))} left"
        return left if self.now or self.took else f"{left}, starting"

    def _draw(self) -> Group:
        stage = self.stage
        if stage is None:
            return Group(Text(""))
        runs = f"{self._count('done')} of {len(self.states)} runs"
        keys = "Ctrl-C: finish running runs, then stop" if self.executor.workers_wanted else "Ctrl-C: stop"
        if self.executor.stopping:
            keys = "finishing the running runs; Ctrl-C again: stop now"
        head = Text.assemble((stage.name, "bold"), f"   {runs}   {self._left()}   ", (keys, "dim"))
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("task", "encoding", "runs", "now"):
            table.add_column(column, no_wrap=True)
        rows: dict[tuple[str, str], list[RunConfig]] = {}
        for config in stage.runs:
            rows.setdefault((config.task, _encoding(config)), []).append(config)
        for (task, encoding), configs in rows.items():
            marks = Text.assemble(*(_MARKS[self.states.get(config.id, "waiting")] for config in configs[:60]))
            at = [self._now(config) for config in configs if config.id in self.now]
            table.add_row(task, encoding, marks, "  ".join(at))
        return Group(head, table)

    def _now(self, config: "RunConfig") -> str:
        now = self.now[config.id]
        name = f"seed {config.seed}" if config.seed else f"rate {config.lr:g}"
        if now.evaluating:
            return f"{name}: scoring"
        return f"{name}: step {now.step}/{now.steps}, loss {now.loss:.3f}, accuracy {now.accuracy:.0%}"


def _encoding(config: "RunConfig") -> str:
    found = config.model.encoding
    return found if isinstance(found, str) else ", ".join(found)


def _named(config: "RunConfig") -> str:
    seed = f"seed {config.seed}" if config.seed else "pilot"
    return f"{config.task}  {_encoding(config)}  {seed}  lr {config.lr:g}"


def outcome(result: "RunResult") -> str:
    """One run in a few words: how its training ended; if it learned the task, what it scores at twice the length."""
    from ordinate.statistics.phrases import training_words

    shown = result.headline
    if result.bar is None:
        return result.status if shown.score is None else f"{shown.score:.3f}"
    end = result.training_end()
    if not end.learned:
        return training_words(end, result.bar)
    beyond = "" if shown.score is None else f" {shown.score:.3f}"
    return f"{training_words(end, result.bar)}, {range_name(*shown.key)}:{beyond} {result.words[shown.key]}"
