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

from ordinate.core.config import digest
from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch
from ordinate.lm.checkpoint_folder import LATEST, RUN, CheckpointFolder, branch_folder, result_of, trunk_folder, verify
from ordinate.lm.config import Options, TrunkConfig
from ordinate.lm.ranks import Ranks
from ordinate.lm.trainer import LMTrainer, TrainingSegment
from ordinate.results.serialize import write
from ordinate.store import Run
from ordinate.store.files import write_json
from ordinate.text.corpus import Corpus, open_corpus
from ordinate.training import checkpoint, environment
from ordinate.training.checkpoint import step_of
from ordinate.training.interruption import StopCallback, never
from ordinate.training.progress import ProgressCallback, silent


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
        if self.ranks.first and not all(result_of(branch_folder(self.root, self.config, b).path) for b in branches):
            open_corpus(self.corpus.folder, verify=True)  # a damaged token is still a valid token
        return [self._branch(branch, watch, stop) for branch in branches]

    def _branch(self, branch: Branch, watch: ProgressCallback, stop: StopCallback) -> Path:
        folder = branch_folder(self.root, self.config, branch)
        if not folder.new and verify(folder.path):
            return folder.path
        if not folder.started:
            self._trunk(branch.begin, watch, stop)
        trunk = trunk_folder(self.root, self.config)
        parent = trunk.branch_point(branch.begin)
        with self._claimed(folder, parent) as run:
            trainer = LMTrainer(self.config, self.corpus, self.options, self.ranks, branch)
            owner = f"{self.config.id}-{digest(branch)}"
            segment = TrainingSegment(trainer, folder, run, branch.end, owner, group=trunk.path.name)
            start = (folder.path / LATEST, owner) if folder.started else (parent, self.config.id)
            segment.load(*start)
            segment.train(watch, stop)
            segment.finish()
        return folder.path

    def _trunk(self, target: int, watch: ProgressCallback, stop: StopCallback) -> None:
        """Train the trunk until it has a checkpoint at this step."""
        folder = trunk_folder(self.root, self.config)
        if os.path.lexists(folder.branch_point(target)):
            return
        with self._claimed(folder, None) as run:
            trainer = LMTrainer(self.config, self.corpus, self.options, self.ranks)
            segment = TrainingSegment(
                trainer, folder, run, target, self.config.id, group=folder.path.name, replay=folder.step > target
            )
            if (start := folder.nearest_start(target)) is not None:
                segment.load(start, self.config.id)
            segment.train(watch, stop)
            segment.keep_branch_point()

    @contextmanager
    def _claimed(self, folder: CheckpointFolder, parent: Path | None) -> Iterator[Run]:
        """Hold the claim on a folder while it is trained in. Rank 0 claims for all ranks."""
        run = Run(folder.path)
        if not self.ranks.first:
            if self.ranks.any(False):
                raise InputError(f"{folder.path} is being trained by another process")
            yield run
            return
        with run.claimed() as mine:
            if self.ranks.any(not mine):
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
