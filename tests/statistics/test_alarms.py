"""An alarm is one class: what it lacks is noticed before it runs, and its sentence is in every form of the report."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Self

import pytest
from rich.console import Console
from tests.report.sample import sample

from ordinate.report import render
from ordinate.report.terminal import show
from ordinate.statistics import alarms
from ordinate.statistics.types import Alarm, TaskEvidence


def test_an_alarm_added_in_one_class_is_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Alarm, "every", list(Alarm.every))

    @dataclass(frozen=True)
    class Moonlight(Alarm, kind="moonlight"):
        encodings: int

        @classmethod
        def check(cls, task: TaskEvidence) -> Iterator[Self]:
            yield cls(len(task.own_seeds))

        def sentence(self) -> str:
            return f"{self.encodings} encodings were trained by moonlight"

    comparison = sample()
    (task,) = comparison.analysis.tasks
    (alarm,) = [alarm for alarm in task.alarms if alarm.kind == "moonlight"]
    sentence = f"{len(task.encodings)} encodings were trained by moonlight"
    assert alarm == Moonlight(len(task.encodings)) and ("moonlight", sentence) in alarms.alarm_lines(task.alarms)
    out = StringIO()
    show(comparison.analysis, Console(file=out, width=200))
    assert sentence in out.getvalue()
    assert sentence in render(comparison, "html") and sentence in render(comparison, "md")
    (stored,) = [
        own for own in json.loads(render(comparison, "json"))["tasks"][0]["alarms"] if own["kind"] == alarm.kind
    ]
    assert stored == {"kind": "moonlight", "facts": {"encodings": len(task.encodings)}, "text": sentence}


def test_every_alarm_has_a_kind_of_its_own() -> None:
    kinds = [kind.kind for kind in Alarm.every]
    assert len(kinds) == len(set(kinds)) >= 14


def test_an_alarm_that_lacks_something_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """mypy refuses the same three lines."""
    monkeypatch.setattr(Alarm, "every", [])

    class Silent(Alarm, kind="silent"):
        pass

    with pytest.raises(TypeError, match="abstract methods check, sentence"):
        Silent()  # type: ignore[abstract]
    with pytest.raises(TypeError, match="kind"):
        type("Nameless", (Alarm,), {})
