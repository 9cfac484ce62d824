"""The folders of checkpoints: one for a trunk and one for each budget, named for people; and the files in them."""

import json
import os
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch, ChangedBranch
from ordinate.lm.config import TrunkConfig
from ordinate.lm.token_counts import write_tokens
from ordinate.results.run_result import LanguageModelResult
from ordinate.store.documents import read_document
from ordinate.store.files import read_json
from ordinate.store.sums import check_files
from ordinate.training.checkpoint import fingerprint, step_of

RUN = "run.json"
LATEST: Final = "latest.pt"
REPLAY = "replay.pt"  # of a trunk that trains again to a branch point which it had passed
LONGEST = 80  # characters of an encoding's part of a name
_BRANCH_POINT = re.compile(r"branch_(\d{9})\.pt")


@dataclass(frozen=True)
class CheckpointFolder:
    """A folder, the configuration it is for, and how that differs from the one that has the plain name."""

    path: Path
    identity: dict[str, Any]
    difference: tuple[str, ...]

    @property
    def new(self) -> bool:
        return not os.path.lexists(self.path / RUN)

    @property
    def started(self) -> bool:
        return os.path.lexists(self.path / LATEST)

    @property
    def step(self) -> int:
        """The step of the latest checkpoint."""
        return step_of(self.path / LATEST) if self.started else 0

    def branch_point(self, step: int) -> Path:
        """Where a trunk keeps its checkpoint at a step that branches start from."""
        return self.path / f"branch_{step:09d}.pt"

    def branch_points(self) -> list[int]:
        """The steps at which a trunk has kept a checkpoint for branches."""
        matches = (_BRANCH_POINT.fullmatch(path.name) for path in self.path.glob("branch_*.pt"))
        return sorted(int(match[1]) for match in matches if match)

    def nearest_start(self, target: int) -> Path | None:
        """The last checkpoint of a trunk at or before a step; none: the trunk starts from scratch."""
        paths = [self.branch_point(step) for step in self.branch_points()]
        paths += [path for name in (LATEST, REPLAY) if os.path.lexists(path := self.path / name)]
        usable = [(step, path) for path in paths if (step := step_of(path)) <= target]
        return max(usable, key=lambda pair: pair[0])[1] if usable else None


def trunk_folder(root: Path, config: TrunkConfig) -> CheckpointFolder:
    """The folder of a trunk: `tiny_rope_trunk_s42`."""
    return _find(root, _name(config, "trunk"), {"trunk": to_dict(config)})


def branch_folder(root: Path, config: TrunkConfig, branch: Branch) -> CheckpointFolder:
    """The folder of a budget: `tiny_rope_2.4B_s42`; `tiny_rope_2.4B_to_none_s42` if it changes the encoding."""
    identity = {"trunk": to_dict(config), "branch": to_dict(branch)}
    part = write_tokens(branch.budget)
    if isinstance(branch, ChangedBranch):
        longer = "" if branch.length == config.model.length else f"_{branch.length}"
        part += f"_to_{_plain(branch.encoding)}{longer}"
    return _find(root, _name(config, part), identity)


def _name(config: TrunkConfig, part: str) -> str:
    return f"{config.size}_{_plain(config.encoding)}_{part}_s{config.seed}"


def _plain(encoding: str) -> str:
    """The text of an encoding as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9=.,+-]+", "-", encoding).strip("-")[:LONGEST]


def _find(root: Path, name: str, identity: dict[str, Any]) -> CheckpointFolder:
    """The first version of the name that is free or holds exactly this configuration."""
    difference: tuple[str, ...] = ()
    for version in count(1):
        folder = CheckpointFolder(root / (name if version == 1 else f"{name}_v{version}"), identity, difference)
        if folder.new:
            return folder
        kept, wanted = read_identity(folder.path), json.loads(json.dumps(identity))  # JSON has no tuples
        if kept == wanted:
            return folder
        difference = tuple(_differences(kept, wanted))
    raise AssertionError("count has no end")


def read_identity(folder: Path) -> dict[str, Any]:
    """The configuration that a folder was made for."""
    content = read_json(folder / RUN)
    kept = content.get("identity") if isinstance(content, dict) else None
    if not isinstance(kept, dict):
        raise InputError(f"{folder / RUN} is damaged (it does not say what it is for): move the folder away")
    return kept


def verify(folder: Path) -> LanguageModelResult | None:
    """The result of a finished budget, if its weights and journal are those that it was written with; None without one.

    Refuses a branch that started from another checkpoint than the one that is now in its parent's place. Reads all of
    these files.
    """
    read_identity(folder)  # a damaged file is named
    run, result = read_json(folder / RUN), result_of(folder)
    if result is not None:
        check_files(folder, result.files)
    parent = folder.parent / str(run.get("parent"))
    if "parent" in run and parent.exists() and fingerprint(parent) != run.get("parent_sha256"):
        raise InputError(
            f"{parent} is not the checkpoint that {folder} was started from: restore it, or move both away"
        )
    return result


def result_of(folder: Path) -> LanguageModelResult | None:
    """None if training is not done. A damaged result is named; the checkpoint beside it can make it again."""
    path = folder / "result.json"
    return read_document(LanguageModelResult, path, "result") if os.path.lexists(path) else None


def _differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    differences = []
    for key in sorted(old.keys() | new.keys()):
        before, after, name = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, dict) and isinstance(after, dict):
            differences += _differences(before, after, f"{name}.")
        elif before != after:
            differences.append(f"{name}: {before} there, {after} here")
    return differences
