"""One stretch of training with what it writes on the way: journal, checkpoints, trackers."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.lm import checkpoint
from ordinate.lm.folders import LATEST, Home
from ordinate.lm.points import REPLAY, point
from ordinate.lm.sinks import Sink, opened
from ordinate.lm.trainer import Now, Trainer, Watch
from ordinate.results.language_model_result import LanguageModelResult
from ordinate.store import Run


class Stopped(Exception):  # noqa: N818
    """The user, or the machine, wanted training to end for now."""


class Stretch:
    """A trainer on its way to a step, with what it writes on the way."""

    def __init__(
        self, trainer: Trainer, home: Home, run: Run, end: int, owner: str, group: str, *, replay: bool = False
    ) -> None:
        self.trainer, self.home, self.run, self.end, self.owner, self.group = trainer, home, run, end, owner, group
        self.replay, self.first = replay, trainer.ranks.first
        self.latest = home.folder / (REPLAY if replay else LATEST)
        self.written = 0  # size of the journal
        self.scores: dict[str, float] = {}  # of the last validation

    def resume(self, path: Path) -> bool:
        """Go on from a checkpoint of this folder; tells whether there is one."""
        if not os.path.lexists(path):
            return False
        self._load(path, self.owner)
        return True

    def start_from(self, parent: Path, owner: str) -> None:
        """Begin where another stretch was; the journal is a new one."""
        self._load(parent, owner)
        self.written = 0

    def go(self, watch: Watch, asked: Callable[[], bool]) -> None:
        """Train up to the end; save now and then, and when asked to stop."""
        trainer, options = self.trainer, self.trainer.options
        if self.first and not self.replay:
            with self.run.writing():
                self.run.journal.cut(self.written)
        saved = timed = time.monotonic()
        since = trainer.step
        with opened(options.trackers if self.first and not self.replay else (), self.home, self.group) as trackers:
            while trainer.step < self.end:
                met = trainer.advance()
                last = trainer.step == self.end
                stop = trainer.ranks.any(asked())
                log, valid = (last or trainer.step % every == 0 for every in (options.log_every, options.valid_every))
                save = stop or trainer.ranks.any(time.monotonic() - saved > options.save_every)
                if log or valid or save:
                    took = time.monotonic() - timed
                    trainer.seconds += took
                    speed = (trainer.step - since) * trainer.config.step_tokens / max(took, 1e-9)
                    numbers = trainer.measure(met, speed)  # which ends a run that diverged before it is saved
                    if valid:
                        self.scores = trainer.validate()
                    if log or valid:
                        self._tell((numbers if log else {}) | (self.scores if valid else {}), watch, trackers)
                    if save:
                        self.save()
                        saved = time.monotonic()
                    since, timed = trainer.step, time.monotonic()
                if stop and trainer.step < self.end:
                    raise Stopped(f"{self.latest} holds step {trainer.step:,} of {self.end:,}")
        self.save()

    def _tell(self, numbers: dict[str, float], watch: Watch, trackers: Sequence[Sink]) -> None:
        trainer = self.trainer
        if not self.first:
            return
        if not self.replay:
            with self.run.writing():
                self.written = self.run.journal.append([{"step": trainer.step, "tokens": trainer.tokens, **numbers}])
            for tracker in trackers:
                tracker.log(trainer.tokens, numbers)
        left = (self.end - trainer.step) * trainer.config.step_tokens / numbers.get("tokens_per_second", float("nan"))
        watch(Now(self.home.folder.name, trainer.step, self.end, numbers, left))

    def save(self) -> None:
        """Replace the latest checkpoint; older ones stay as long as they are asked for."""
        state = self.trainer.state()
        if self.first:
            with self.run.writing():
                if not self.replay:
                    self.run.journal.sync()
                checkpoint.save(self.latest, self.owner, {**state, "journal": self.written})
                if self.trainer.options.keep > 1 and not self.replay:
                    _link(self.latest, self.home.folder / f"step_{self.trainer.step:09d}.pt")
                    for old in sorted(self.home.folder.glob("step_*.pt"))[: -self.trainer.options.keep]:
                        old.unlink()
        self.trainer.ranks.wait()

    def keep_point(self) -> None:
        """The checkpoint of this step stays for good: branches leave from it."""
        if self.first:
            with self.run.writing():
                _link(self.latest, point(self.home.folder, self.trainer.step))
                if self.replay:
                    self.latest.unlink()
        self.trainer.ranks.wait()

    def finish(self) -> None:
        """Write the result. From then on the budget is done."""
        trainer = self.trainer
        scores = self.scores or trainer.validate()  # none if it was stopped between its last step and this
        weights = sum(weight.numel() for weight in trainer.model.parameters())
        if self.first:
            self.run.finish(
                LanguageModelResult(
                    self.run.id, trainer.step, trainer.tokens, trainer.seconds, weights, scores["valid_loss"],
                    scores["bits_per_byte"],
                )
            )  # fmt: skip
        trainer.ranks.wait()

    def _load(self, path: Path, owner: str) -> None:
        rest = checkpoint.load(path, owner, self.trainer.model, self.trainer.optimizer)
        if rest["step"] > self.end:
            raise InputError(f"{path} is at step {rest['step']:,}, past the end of its stretch: move it away")
        self.trainer.step, self.trainer.seconds, self.written = rest["step"], rest["seconds"], rest["journal"]


def _link(path: Path, other: Path) -> None:
    """A second name for a file that is replaced, never changed."""
    with suppress(FileExistsError):
        os.link(path, other)
