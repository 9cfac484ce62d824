"""A lesson as data: what one can do afterwards, and blocks of which each is drawn by the app and by a notebook."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ordinate.core.errors import InputError, nearest
from ordinate.report.chart import Figure
from ordinate.report.table import Table

Value = int | float | str | bool


@dataclass(frozen=True)
class Shown:
    """What a function of a lesson has computed: a sentence in Markdown, figures and tables."""

    sentence: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    across: int = 1  # figures side by side where there is room


@dataclass(frozen=True)
class Revealed:
    """Which choice of a prediction is right, as measured, and the measurement."""

    right: int
    shown: Shown


@dataclass(frozen=True)
class Prose:
    """Prose in Markdown with LaTeX between dollar signs; `code` stands below it."""

    markdown: str
    code: str = ""


@dataclass(frozen=True)
class Predict:
    """A question to answer before the measurement is shown."""

    name: str
    question: str
    choices: tuple[str, ...]
    answer: Callable[[], Revealed]


@dataclass(frozen=True)
class Slider:
    """A number to move."""

    name: str
    label: str
    low: float
    high: float
    value: float
    step: float = 1

    @property
    def whole(self) -> bool:
        return all(isinstance(number, int) for number in (self.low, self.high, self.value, self.step))

    @property
    def ends(self) -> tuple[Value, ...]:
        return self.low, self.high


@dataclass(frozen=True)
class Picker:
    """One of several words."""

    name: str
    label: str
    options: tuple[str, ...]
    value: str

    @property
    def ends(self) -> tuple[Value, ...]:
        return self.options


Control = Slider | Picker


@dataclass(frozen=True)
class Explore:
    """Something to move: `show` is called with the value of each control, by its name."""

    name: str
    invitation: str
    controls: tuple[Control, ...]
    show: Callable[..., Shown]

    @property
    def defaults(self) -> dict[str, Value]:
        return {control.name: control.value for control in self.controls}


@dataclass(frozen=True)
class Evidence:
    """What stored runs with several seeds say; a part of a study that was not run yet says so."""

    name: str
    question: str
    show: Callable[[], Shown]


@dataclass(frozen=True)
class Exercise:
    """Code to write or, with `kind="debug"`, to mend. `check` gets what the code defines under the name `defines`, and
    returns what is wrong with it in one sentence; empty if nothing is."""

    name: str
    prompt: str
    defines: str
    starter: str
    check: Callable[[Any], str]
    solution: str
    wrong: str = ""  # a typical wrong one, for the tests; a planted bug is one
    kind: Literal["write", "debug"] = "write"
    hint: str = ""


Block = Prose | Predict | Explore | Evidence | Exercise
Kind = TypeVar("Kind", Predict, Explore, Evidence, Exercise)


@dataclass(frozen=True)
class FurtherReading:
    """A paper, and what to look for in it."""

    paper: str
    arxiv: str
    why: str

    @property
    def markdown(self) -> str:
        return f"{self.paper}, [arXiv:{self.arxiv}](https://arxiv.org/abs/{self.arxiv}): {self.why}"


@dataclass(frozen=True)
class Lesson:
    """One lesson. Its file in `ordinate.lessons` gives it its name."""

    number: int
    title: str
    question: str  # that it answers
    goals: tuple[str, ...]  # what one can do afterwards
    blocks: tuple[Block, ...]
    reading: tuple[FurtherReading, ...]
    name: str = field(default="", compare=False)

    def named(self, kind: type[Kind]) -> Mapping[str, Kind]:
        """Its blocks of one kind, by name."""
        return {block.name: block for block in self.blocks if isinstance(block, kind)}

    def block(self, kind: type[Kind], name: str) -> Kind:
        """The block of this kind with this name."""
        found = self.named(kind)
        if name not in found:
            raise InputError(f"lesson {self.name} has no {kind.__name__.lower()} {name!r}: {nearest(name, found)}")
        return found[name]
