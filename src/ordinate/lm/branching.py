"""Training to several budgets from one trunk. Finished budgets stay as they are; interrupted ones are resumed.

    trunk   --warm-up--plateau----*b1--------*b2
    branch 1                       \\decay
    branch 2                                  \\decay

A branch starts from the trunk's checkpoint at its branch point and trains on the tokens that come next in the same
order, so it ends bitwise where one run with that budget alone would.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from ordinate.core.config import digest
from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch
from ordinate.lm.checkpoint_folder import LATEST, RUN, CheckpointFolder, branch_folder, result_of, trunk_folder, verify
from ordinate.lm.config import Options, TrunkConfig
from ordinate.lm.data_check import DataCheck
from ordinate.lm.ranks import Ranks
from ordinate.lm.trainer import LMTrainer, TrainingSegment
from ordinate.model import Transformer
from ordinate.results.serialize import write
from ordinate.store import Run
from ordinate.store.files import write_json
from ordinate.text.corpus import Corpus
from ordinate.training import checkpoint, environment
from ordinate.training.checkpoint import step_of
from ordinate.training.interruption import StopCallback, never
from ordinate.training.progress import ProgressCallback, silent

FolderState = Literal["new", "started", "done"]


@dataclass(frozen=True)
class BranchedTraining:
    """One model, its data, and the folder of its checkpoints."""

    config: TrunkConfig
    corpus: Corpus
    root: Path
    options: Options = field(default_factory=Options)
    ranks: Ranks = field(default_factory=Ranks)

    def run(
        self, branches: Sequence[Branch], watch: ProgressCallback = silent, stop: StopCallback = never
    ) -> list[Path]:
        """Train to every budget, the smallest first, and return their folders. `stop` is called after every step."""
        unfinished = self.ranks.decide(lambda: not all(self._find(branch)[1] == "done" for branch in branches))
        data = DataCheck(self.corpus, needed=unfinished and self.ranks.first)
        return [self._branch(branch, data, watch, stop) for branch in branches]

    def _branch(self, branch: Branch, data: DataCheck, watch: ProgressCallback, stop: StopCallback) -> Path:
        folder, state = self.ranks.decide(lambda: self._find(branch, verified=True))
        if state == "done":
            return folder.path
        if state == "new":
            self._trunk(branch.begin, data, watch, stop)
        trunk = self.ranks.decide(lambda: trunk_folder(self.root, self.config))
        parent = trunk.branch_point(branch.begin)
        with self._claimed(folder, parent) as run:
            trainer = LMTrainer(self.config, self.corpus, self.options, self.ranks, branch)
            owner = f"{self.config.id}-{digest(branch)}"
            segment = TrainingSegment(trainer, folder, run, branch.end, owner, trunk.path.name, data)
            if state == "started":
                segment.load(folder.path / LATEST, owner)
            else:
                segment.load(parent, self.config.id, self._trunk_model() if trainer.config != self.config else None)
            segment.train(watch, stop)
            segment.finish()
        return folder.path

    def _find(self, branch: Branch, *, verified: bool = False) -> tuple[CheckpointFolder, FolderState]:
        """The folder of a branch, and how far it is. `verified`: compare the hashes of what it holds."""
        folder = branch_folder(self.root, self.config, branch)
        if not folder.new and (verify if verified else result_of)(folder.path):
            return folder, "done"
        return folder, "started" if folder.started else "new"

    def _trunk_model(self) -> Transformer:
        """The shapes of the trunk's weights, without storage."""
        with torch.device("meta"):
            return Transformer(self.config.model)

    def _trunk(self, target: int, data: DataCheck, watch: ProgressCallback, stop: StopCallback) -> None:
        """Train the trunk until it has a checkpoint at this step."""
        folder, start, replay = self.ranks.decide(lambda: self._find_trunk(target))
        if start == folder.branch_point(target):
            return
        with self._claimed(folder, None) as run:
            trainer = LMTrainer(self.config, self.corpus, self.options, self.ranks)
            segment = TrainingSegment(
                trainer, folder, run, target, self.config.id, folder.path.name, data, replay=replay
            )
            if start is not None:
                segment.load(start, self.config.id)
            segment.train(watch, stop)
            segment.keep_branch_point()

    def _find_trunk(self, target: int) -> tuple[CheckpointFolder, Path | None, bool]:
        """The trunk's folder, its last checkpoint up to a step, and whether it has passed that step."""
        folder = trunk_folder(self.root, self.config)
        if os.path.lexists(folder.branch_point(target)):
            return folder, folder.branch_point(target), False
        return folder, folder.nearest_start(target), folder.step > target

    @contextmanager
    def _claimed(self, folder: CheckpointFolder, parent: Path | None) -> Iterator[Run]:
        """Hold the claim on a folder while it is trained in. Rank 0 claims for all ranks."""
        run = Run(folder.path)
        if not self.ranks.first:
            if any(self.ranks.any(False)):
                raise InputError(f"{folder.path} is being trained by another process")
            yield run
            return
        with run.claimed() as mine:
            if any(self.ranks.any(not mine)):
                raise InputError(f"{folder.path} is being trained by another process: wait for it, or stop it")
            if folder.new:
                content: dict[str, Any] = {"identity": folder.identity}
                if parent is not None:
                    origin = f"{parent.parent.name}/{parent.name}"
                    content |= {"parent": origin, "parent_sha256": checkpoint.fingerprint(parent)}
                with run.writing():
                    write_json(folder.path / RUN, content | {"made": write(environment.describe())})
            yield run


@dataclass(frozen=True)
class PlannedSegment:
    """Steps of a trunk or a branch that are to be trained, or were."""

    what: Literal["trunk", "replay", "branch"]  # replay: the trunk again, to a branch point that it had passed
    folder: Path
    begin: int
    end: int
    difference: tuple[str, ...] = ()  # from the folder that has the plain name

    @property
    def steps(self) -> int:
        return self.end - self.begin


def plan_segments(root: Path, config: TrunkConfig, branches: Sequence[Branch]) -> list[PlannedSegment]:
    """All segments in their order; those that are done have no steps."""
    trunk = trunk_folder(root, config)
    kept, reached = set(trunk.branch_points()), trunk.step
    planned = []
    for branch in branches:
        folder = branch_folder(root, config, branch)
        begin = branch.begin
        if result_of(folder.path):
            begin = branch.end
        elif folder.started:
            begin = folder.step
        elif branch.begin not in kept:
            start = trunk.nearest_start(branch.begin)
            ready = [step for step in kept if step <= branch.begin]
            at = max([0 if start is None else step_of(start), *ready])
            what: Literal["trunk", "replay"] = "trunk" if reached <= branch.begin else "replay"
            planned.append(PlannedSegment(what, trunk.path, at, branch.begin, trunk.difference))
            kept.add(branch.begin)
            reached = max(reached, branch.begin)
        planned.append(PlannedSegment("branch", folder.path, begin, branch.end, folder.difference))
    return planned
