"""How far training is: what a progress bar shows, and the clock behind its speed and time left."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One report of a run. A value is NaN or none where this run, or this report, does not have it."""

    step: int
    steps: int  # where the run ends, as far as is known now
    seconds_left: float
    loss: float = math.nan
    accuracy: float = math.nan  # of the batch just trained on
    validation: float | None = None  # a task's score, or a language model's loss
    tokens_per_second: float | None = None
    mfu: float | None = None  # share of the speed of a large matrix product on this machine
    learned: bool = False  # the task's bar was reached, so `steps` is final
    evaluating: bool = False  # training is over, scoring is not
    name: str = ""  # of the checkpoint folder


ProgressCallback = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Show nothing."""


class TrainingClock:
    """Seconds of training over all starts of a run, and the speed since the clock was last resumed."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._before, self._paused = seconds, 0.0
        self.resume()

    def resume(self) -> None:
        """Begin a new window, over which speed is measured."""
        self._begin: float | None = time.monotonic()
        self._steps = self._tokens = 0

    def pause(self) -> None:
        """Leave out what follows, such as validation and saving, until `resume`."""
        self._before, self._paused, self._begin = self.seconds, self.window, None

    def count(self, tokens: int) -> None:
        """One more step, of so many tokens."""
        self._steps += 1
        self._tokens += tokens

    @property
    def window(self) -> float:
        """Seconds from `resume` until now, or until `pause`."""
        return self._paused if self._begin is None else max(time.monotonic() - self._begin, 1e-9)

    @property
    def seconds(self) -> float:
        return self._before + (0.0 if self._begin is None else time.monotonic() - self._begin)

    @property
    def tokens_per_second(self) -> float:
        return self._tokens / self.window

    def seconds_left(self, steps: int) -> float:
        """For so many steps more, at the speed of this window."""
        return self.window / max(self._steps, 1) * steps
