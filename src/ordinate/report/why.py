"""Why encodings differ on a task: what the heads of their trained models do, from stored probes of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ordinate.probes.head_names import NamedHead
from ordinate.probes.records import stored
from ordinate.probes.run_probe import RunProbe
from ordinate.report.model_probe_words import STEADY, cost_words, head_words, main_head, role_words
from ordinate.report.summary import by_score
from ordinate.report.table import Column, Table
from ordinate.results.comparison import Comparison
from ordinate.statistics.phrases import listed
from ordinate.statistics.types import TaskAnalysis
from ordinate.store import Run

MOST = 4  # encodings in the sentence; the table has all
PLACES = ("offset", "first", "induction")  # roles whose score is a weight on one place


@dataclass(frozen=True)
class Why:
    """The reason of one encoding: the probe of the run that speaks for it."""

    encoding: str
    run: str
    probe: RunProbe

    @property
    def head(self) -> NamedHead:
        return main_head(self.probe)

    @property
    def times(self) -> float:
        """The longest tested length, in multiples of the trained one."""
        return max(self.head.score) / self.probe.length


def whys(comparison: Comparison, task: TaskAnalysis) -> list[Why]:
    """Of every encoding whose run was probed, the best first."""
    paths = {profile.encoding: profile.probe for profile in comparison.profiles if profile.task == task.task}
    found = ((name, path, _read(path)) for name in by_score(task) if (path := paths.get(name)) is not None)
    return [Why(name, path.parent.name, probe) for name, path, probe in found if probe is not None and probe.heads]


def task_sentence(comparison: Comparison, task: TaskAnalysis) -> str:
    """What is said beside the verdict."""
    found = whys(comparison, task)
    known = {why.encoding for why in found}
    return why_sentence(found, [name for name in by_score(task) if name not in known])


def _read(path: Path) -> RunProbe | None:
    """None if it is damaged."""
    return stored(RunProbe, Run(path.parent))


def why_sentence(found: Sequence[Why], lacking: Sequence[str] = ()) -> str:
    """`rope: layer 1 head 2 looks 3 back with weight 0.98 at every tested length; t5's falls from 0.97 to 0.41 at 4x`;
    empty without probes. lacking: encodings whose runs were not probed."""
    if not found:
        return ""
    first, *rest = found[:MOST]
    parts = [f"{first.encoding}: {head_words(first.head, first.probe)}"]
    parts += [_beside(first, other) for other in rest]
    learned = [] if any(why.probe.learned for why in found[:MOST]) else ["none of these runs learned the task"]
    silent = [f"not probed: {listed(lacking)}"] if lacking else []
    return "; ".join(parts + learned + silent) + "."


def _beside(first: Why, other: Why) -> str:
    """What another does, in short if its head has the same place."""
    head, same = other.head, (first.head.role, first.head.offset)
    if (head.role, head.offset) != same or head.role not in PLACES:
        return f"{other.encoding}: {head_words(head, other.probe)}"
    known, last = head.score[other.probe.length], head.score[max(head.score)]
    if max(abs(score - known) for score in head.score.values()) <= STEADY:
        return f"{other.encoding}'s does too, with {known:.2f}"
    return (
        f"{other.encoding}'s {'falls' if last < known else 'rises'} from {known:.2f} to {last:.2f} at {other.times:g}x"
    )


def why_table(found: Sequence[Why], name: str = "why") -> Table:
    """Encodings by what their main head does and what changes of positions cost."""
    columns = (
        Column("encoding", "encoding"), Column("head", "head"), Column("does", "does"),
        Column("weight", "at the trained length", ".2f"), Column("longest", "at the longest", ".2f"),
        Column("permute", "permuting positions costs"), Column("shift", "shifting them costs"),
        Column("off", "without the encoding it loses"),
        Column("run", "run"),
    )  # fmt: skip
    rows = [_row(why) for why in found]
    note = (
        "The head that matters most of one run per encoding, the first seed that learned the task; what it does, with "
        "the weight that is left at the longest tested length; and how much of the score is lost when positions are "
        f"changed. More: ordinate probe {found[0].run if found else 'RUN'}"
    )
    return Table(name, "Why: what the heads do", columns, rows, note=note)


def _row(why: Why) -> tuple[str | float, ...]:
    head, costs = why.head, (_cost(why.probe, name) for name in ("permute", "shift within", "off"))
    weights = (round(head.score[length], 2) for length in (why.probe.length, max(head.score)))
    return why.encoding, f"{head.layer}.{head.head}", role_words(head), *weights, *costs, why.run


def _cost(probe: RunProbe, name: str) -> str:
    found = probe.intervention(name)
    return "-" if found is None else cost_words(found)
