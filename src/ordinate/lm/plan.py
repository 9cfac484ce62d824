"""What is still to be trained for some budgets, told before anything starts."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ordinate.lm.config import TrunkConfig
from ordinate.lm.folders import LATEST, branch_home, trunk_home
from ordinate.lm.points import nearest_start, points, reached, step_of
from ordinate.lm.result import result_of
from ordinate.lm.schedule import Branch


@dataclass(frozen=True)
class Leg:
    """A stretch that is to be trained, or was."""

    what: Literal["trunk", "replay", "branch"]  # replay: the trunk again, to a branch point that it had passed
    folder: Path
    begin: int
    end: int
    difference: tuple[str, ...] = ()  # from the folder that has the plain name

    @property
    def steps(self) -> int:
        return self.end - self.begin


def legs(root: Path, config: TrunkConfig, branches: Sequence[Branch]) -> list[Leg]:
    """All stretches in their order; those that are done have no steps."""
    trunk = trunk_home(root, config)
    kept, far = set(points(trunk.folder)), reached(trunk.folder)
    planned = []
    for branch in branches:
        home = branch_home(root, config, branch)
        begin = branch.begin
        if result_of(home.folder):
            begin = branch.end
        elif os.path.lexists(home.folder / LATEST):
            begin = step_of(home.folder / LATEST)
        elif branch.begin not in kept:
            start = nearest_start(trunk.folder, branch.begin)
            ready = [step for step in kept if step <= branch.begin]
            at = max([0 if start is None else step_of(start), *ready])
            what: Literal["trunk", "replay"] = "trunk" if far <= branch.begin else "replay"
            planned.append(Leg(what, trunk.folder, at, branch.begin, trunk.difference))
            kept.add(branch.begin)
            far = max(far, branch.begin)
        planned.append(Leg("branch", home.folder, begin, branch.end, home.difference))
    return planned
