"""A study as data: its comparisons, the published figures they are held against, and what was claimed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ordinate.core.errors import InputError
from ordinate.core.parsing import write_value
from ordinate.studies.command import write_command
from ordinate.studies.plan import Seeds, Study, plan

MATRIX = ("length", "generalization", "parameters", "speed")  # the properties of a published matrix


@dataclass(frozen=True)
class Published:
    """One number of a published table; `within` where it is stated as about so much, or as a range."""

    encoding: str
    measure: str
    value: float
    within: float = 0.0


@dataclass(frozen=True)
class PublishedClaim:
    """What was published of encodings: an order in one measure, or which of them learn the task or extrapolate."""

    text: str
    measure: str = ""
    better: tuple[str, ...] = ()  # each of these is above each of `worse`
    worse: tuple[str, ...] = ()
    lower: bool = False  # smaller values of the measure are better
    learns: tuple[str, ...] = ()  # each in most seeds
    fails: tuple[str, ...] = ()  # each in most seeds
    extrapolates: tuple[str, ...] = ()  # each at the bar on the headline range in most seeds
    collapses: tuple[str, ...] = ()  # each below the bar there in most seeds

    @property
    def opposites(self) -> tuple[tuple[str, ...], ...]:
        """What no encoding can be named twice in."""
        return (*self.better, *self.worse), (*self.learns, *self.fails), (*self.extrapolates, *self.collapses)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for side in self.opposites for name in side))


@dataclass(frozen=True)
class Part:
    """One comparison of a study."""

    name: str
    tasks: tuple[str, ...]
    encodings: tuple[str, ...]
    settings: Mapping[str, Any]
    about: str = ""
    seeds: Seeds | None = None
    rates: tuple[float, ...] | None = None
    base: str | None = None  # the part that this one is like
    differs: Mapping[str, Any] = field(default_factory=dict)  # in what
    published: tuple[Published, ...] = ()
    measures: tuple[str, ...] = ()  # shown beside those that are published

    @cached_property
    def study(self) -> Study:
        """Which runs it consists of, to look them up."""
        with part_errors(self.name):
            return plan(
                self.tasks, self.encodings, seeds=self.seeds, rates=self.rates, settings=self.settings, try_models=False
            )

    def encoding(self, name: str) -> str | None:
        """Its encoding of this name, else the first one of it, whatever parameters it has here."""
        if name in self.encodings:
            return name
        return next((own for own in self.encodings if own.partition("(")[0] == name), None)

    @property
    def command(self) -> str:
        """What makes this comparison alone."""
        return write_command(self.study, self.settings)

    @property
    def difference(self) -> str:
        """What differs from the part that it is like: `lr=0.001`."""
        return ", ".join(f"{key}={write_value(value)}" for key, value in self.differs.items())


@dataclass(frozen=True)
class StudyFile:
    """A question, and the comparisons that answer it."""

    name: str
    typed: str  # what a command calls it: its name, or the path of its file
    title: str
    question: str
    source: str  # of the published figures, and what is not stated there
    parts: tuple[Part, ...]
    claims: tuple[PublishedClaim, ...] = ()
    interaction: tuple[str, ...] = ()  # measures over time whose course may depend on the part
    matrix: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # published: encoding, property, in words

    def title_of(self, part: Part) -> str:
        """The name under which a part is stored and reported: `s4-k-back: as stated`."""
        return f"{self.name}: {part.name}"


@contextmanager
def part_errors(name: str) -> Iterator[None]:
    """Say in which part of a study something is wrong."""
    try:
        yield
    except InputError as error:
        raise InputError(f"part {name!r}: {error}") from error
