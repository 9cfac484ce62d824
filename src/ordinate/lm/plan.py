"""The segments that some budgets need, and which of them are done."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ordinate.lm.budgets import Branch
from ordinate.lm.checkpoint_folder import branch_folder, trunk_folder
from ordinate.lm.config import TrunkConfig
from ordinate.lm.result import result_of
from ordinate.training.checkpoint import step_of


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
