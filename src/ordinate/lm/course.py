"""Several budgets from one trunk. Whatever was done before is gone on with, and nothing finished is touched.

    trunk   --warm-up--plateau----*b1--------*b2
    branch 1                       \\decay
    branch 2                                  \\decay

A branch starts from the trunk's checkpoint at its own point and learns from the tokens that come next in the same
order, so it ends bitwise where one run with that budget alone would.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ordinate.core.config import digest
from ordinate.core.errors import InputError
from ordinate.lm import checkpoint
from ordinate.lm.config import TrunkConfig
from ordinate.lm.folders import LATEST, RUN, Home, branch_home, trunk_home
from ordinate.lm.points import nearest_start, point, reached
from ordinate.lm.ranks import Ranks
from ordinate.lm.result import result_of
from ordinate.lm.schedule import Branch
from ordinate.lm.stretch import Stretch
from ordinate.lm.trainer import Options, Trainer, Watch
from ordinate.store import Run
from ordinate.store.files import write_json
from ordinate.text.corpus import Corpus, open_corpus
from ordinate.training import environment


@dataclass(frozen=True)
class Course:
    """One model, its data, and where its checkpoints go."""

    config: TrunkConfig
    corpus: Corpus
    root: Path
    options: Options = field(default_factory=Options)
    ranks: Ranks = field(default_factory=Ranks)

    def run(
        self, branches: Sequence[Branch], watch: Watch = lambda now: None, asked: Callable[[], bool] = lambda: False
    ) -> list[Path]:
        """Train to every budget, the smallest first; tells their folders. Ends after a step if `asked` to."""
        if self.ranks.first and not all(result_of(branch_home(self.root, self.config, b).folder) for b in branches):
            open_corpus(self.corpus.folder, verify=True)  # a damaged token is a token too
        return [self._branch(branch, watch, asked) for branch in branches]

    def _branch(self, branch: Branch, watch: Watch, asked: Callable[[], bool]) -> Path:
        home = branch_home(self.root, self.config, branch)
        if result_of(home.folder):
            return home.folder
        if not os.path.lexists(home.folder / LATEST):
            self._trunk(branch.begin, watch, asked)
        trunk = trunk_home(self.root, self.config)
        parent = point(trunk.folder, branch.begin)
        with self._at_work(home, parent) as run:
            trainer = Trainer(self.config, self.corpus, self.options, self.ranks, branch)
            stretch = Stretch(
                trainer, home, run, branch.end, f"{self.config.id}-{digest(branch)}", group=trunk.folder.name
            )
            if not stretch.resume(home.folder / LATEST):
                stretch.start_from(parent, self.config.id)
            stretch.go(watch, asked)
            stretch.finish()
        return home.folder

    def _trunk(self, target: int, watch: Watch, asked: Callable[[], bool]) -> None:
        """Make sure that the trunk has a checkpoint at this step."""
        home = trunk_home(self.root, self.config)
        if os.path.lexists(point(home.folder, target)):
            return
        with self._at_work(home, None) as run:
            trainer = Trainer(self.config, self.corpus, self.options, self.ranks)
            ahead = reached(home.folder) <= target
            stretch = Stretch(trainer, home, run, target, self.config.id, group=home.folder.name, replay=not ahead)
            start = nearest_start(home.folder, target)
            if start is not None:
                stretch.resume(start)
            stretch.go(watch, asked)
            stretch.keep_point()

    @contextmanager
    def _at_work(self, home: Home, parent: Path | None) -> Iterator[Run]:
        """Nobody else may train in this folder meanwhile. Rank 0 speaks for all."""
        run = Run(home.folder)
        if not self.ranks.first:
            if self.ranks.any(False):
                raise InputError(f"{home.folder} is being trained by another process")
            yield run
            return
        with run.claimed() as mine:
            if self.ranks.any(not mine):
                raise InputError(f"{home.folder} is being trained by another process: wait for it, or stop it")
            if home.new:
                born = {} if parent is None else {"parent": f"{parent.parent.name}/{parent.name}"}
                born |= {} if parent is None else {"parent_sha256": checkpoint.fingerprint(parent)}
                with run.writing():
                    write_json(home.folder / RUN, {"identity": home.identity, **born, "made": environment.describe()})
            yield run
