"""The checkpoints that a trunk keeps, and from which of them a step is nearest."""

import os
import re
from pathlib import Path

import torch

from ordinate.core.errors import InputError
from ordinate.lm.folders import LATEST
from ordinate.store.files import regular

REPLAY = "replay.pt"  # where a trunk is while it goes over old ground, to a branch point that it had passed
_POINT = re.compile(r"branch_(\d{9})\.pt")


def point(folder: Path, step: int) -> Path:
    """Where a trunk keeps its checkpoint at a step."""
    return folder / f"branch_{step:09d}.pt"


def points(folder: Path) -> list[int]:
    """The steps at which a trunk kept a checkpoint."""
    found = (_POINT.fullmatch(path.name) for path in folder.glob("branch_*.pt"))
    return sorted(int(match[1]) for match in found if match)


def reached(folder: Path) -> int:
    """How far a trunk has come."""
    return step_of(folder / LATEST) if os.path.lexists(folder / LATEST) else 0


def nearest_start(folder: Path, target: int) -> Path | None:
    """The checkpoint of a trunk from which a step is nearest; none: from the start."""
    paths = [point(folder, step) for step in points(folder)]
    paths += [path for name in (LATEST, REPLAY) if os.path.lexists(path := folder / name)]
    usable = [(step, path) for path in paths if (step := step_of(path)) <= target]
    return max(usable, key=lambda pair: pair[0])[1] if usable else None


def step_of(path: Path) -> int:
    """The step of a checkpoint, without reading its tensors."""
    try:
        with open(path, "rb", opener=regular):  # for torch takes a name, and would wait for a pipe
            pass
        step = torch.load(path, map_location="cpu", weights_only=True, mmap=True)["step"]
    except Exception as error:  # a damaged file shows itself in many ways
        raise InputError(f"{path} is no checkpoint of this program, or is damaged: move it away") from error
    if type(step) is not int:
        raise InputError(f"{path} is damaged (it names no step): move it away")
    return step
