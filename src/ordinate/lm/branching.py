"""Training to several budgets from one trunk. Finished budgets stay as they are; interrupted ones are resumed.

    trunk   --warm-up--plateau----*b1--------*b2
    branch 1                       \\decay
    branch 2                                  \\decay

A branch starts from the trunk's checkpoint at its branch point and trains on the tokens that come next in the same
order, so it ends bitwise where one run with that budget alone would.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ordinate.core.config import digest
from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch
from ordinate.lm.checkpoint_folder import LATEST, RUN, CheckpointFolder, branch_folder, trunk_folder
from ordinate.lm.config import Options, TrunkConfig
from ordinate.lm.ranks import Ranks
from ordinate.lm.result import result_of
from ordinate.lm.trainer import LMTrainer, TrainingSegment
from ordinate.results.serialize import write
from ordinate.store import Run
from ordinate.store.files import write_json
from ordinate.text.corpus import Corpus, open_corpus
from ordinate.training import checkpoint, environment
from ordinate.training.progress import ProgressCallback


@dataclass(frozen=True)
class BranchedTraining:
    """One model, its data, and the folder of its checkpoints."""

    config: TrunkConfig
    corpus: Corpus
    root: Path
    options: Options = field(default_factory=Options)
    ranks: Ranks = field(default_factory=Ranks)

    def run(
        self,
        branches: Sequence[Branch],
        watch: ProgressCallback = lambda progress: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Path]:
        """Train to every budget, the smallest first, and return their folders. `stop` is called after every step."""
        if self.ranks.first and not all(result_of(branch_folder(self.root, self.config, b).path) for b in branches):
            open_corpus(self.corpus.folder, verify=True)  # a damaged token is still a valid token
        return [self._branch(branch, watch, stop) for branch in branches]

    def _branch(self, branch: Branch, watch: ProgressCallback, stop: Callable[[], bool]) -> Path:
        folder = branch_folder(self.root, self.config, branch)
        if result_of(folder.path):
            return folder.path
        if not folder.started:
            self._trunk(branch.begin, watch, stop)
        trunk = trunk_folder(self.root, self.config)
        parent = trunk.branch_point(branch.begin)
        with self._claimed(folder, parent) as run:
            recipe = LMTrainer(self.config, self.corpus, self.options, self.ranks, branch)
            owner = f"{self.config.id}-{digest(branch)}"
            segment = TrainingSegment(recipe, folder, run, branch.end, owner, group=trunk.path.name)
            if folder.started:
                segment.load(folder.path / LATEST, owner)
            else:
                segment.load(parent, self.config.id)
            segment.train(watch, stop)
            segment.finish()
        return folder.path

    def _trunk(self, target: int, watch: ProgressCallback, stop: Callable[[], bool]) -> None:
        """Train the trunk until it has a checkpoint at this step."""
        folder = trunk_folder(self.root, self.config)
        if os.path.lexists(folder.branch_point(target)):
            return
        with self._claimed(folder, None) as run:
            recipe = LMTrainer(self.config, self.corpus, self.options, self.ranks)
            segment = TrainingSegment(
                recipe, folder, run, target, self.config.id, group=folder.path.name, replay=folder.step > target
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
                origin = {} if parent is None else {"parent": f"{parent.parent.name}/{parent.name}"}
                origin |= {} if parent is None else {"parent_sha256": checkpoint.fingerprint(parent)}
                with run.writing():
                    content = {"identity": folder.identity, **origin, "made": write(environment.describe())}
                    write_json(folder.path / RUN, content)
            yield run
