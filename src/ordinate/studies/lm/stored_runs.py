"""Where runs of language models are: in the folders of `lm train`, or among those that come with the program."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from ordinate.core.errors import InputError
from ordinate.lm.checkpoint_folder import branch_folder, result_of, trunk_folder
from ordinate.lm.evaluation.stored import evaluation_name, read_evaluation
from ordinate.results.lm_record import LanguageModelRecord, record_of
from ordinate.store.claim import Claim
from ordinate.store.files import Journal
from ordinate.studies.lm.comparison import ModelRun

CLAIMS = ".claims"  # the folder of those who work on runs


@runtime_checkable
class Records(Protocol):
    """Finished runs."""

    def find(self, run: ModelRun) -> LanguageModelRecord | None:
        """The record of a run; none if it is not finished."""


@dataclass(frozen=True)
class Checkpoints:
    """The folder that `lm train` writes to. A run is done if its result is there and its evaluation is of it."""

    root: Path

    def folder(self, run: ModelRun) -> Path:
        return branch_folder(self.root, run.config, run.branch).path

    def find(self, run: ModelRun) -> LanguageModelRecord | None:
        folder = self.folder(run)
        result, file = result_of(folder), folder / evaluation_name(run.evaluation)
        if result is None or not file.exists():
            return None
        evaluation = read_evaluation(file)
        if evaluation.sha256 != result.files.get("latest.pt"):
            return None
        return record_of(evaluation, self._curve(run, folder), result.seconds, result.added_ratio)

    def _curve(self, run: ModelRun, folder: Path) -> list[tuple[int, float]]:
        """The training loss by tokens: of the trunk to the branch point, then of the branch."""
        trunk = Journal(trunk_folder(self.root, run.config).path / "metrics.jsonl").read()
        lines = [line for line in trunk if line["step"] <= run.branch.begin]
        lines += Journal(folder / "metrics.jsonl").read()
        return [(int(line["tokens"]), float(line["loss"])) for line in lines if "loss" in line]

    @contextmanager
    def claimed(self, run: ModelRun) -> Iterator[bool]:
        """Yields whether this process may work on the run.

        Runs that would use the same folders exclude each other: those of one trunk, and those whose names are alike.
        """
        claim = self._claim(run)
        with claim.locked() as lock:
            mine = claim.take(lock)
        try:
            yield mine
        finally:
            if mine:
                claim.free()

    def busy(self, run: ModelRun) -> bool:
        """Whether a process has claimed it."""
        return self._claim(run).holder is not None

    def _claim(self, run: ModelRun) -> Claim:
        config = run.config
        return Claim(self.root / CLAIMS / f"{config.size}_{config.encoding}_s{config.seed}".replace("/", "-")[:200])

    def check(self) -> None:
        """Refuse a place that is no folder."""
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"{self.root} is not a folder: name another one with --checkpoints")
