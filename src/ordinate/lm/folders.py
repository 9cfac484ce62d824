"""Where a model's checkpoints live: folders named for people, and never used for anything else than what they hold."""

import os
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.lm.amount import write_tokens
from ordinate.lm.config import TrunkConfig
from ordinate.lm.schedule import Branch
from ordinate.store.files import read_json

RUN = "run.json"
LATEST = "latest.pt"
LONGEST = 80  # characters of an encoding's part of a name


@dataclass(frozen=True)
class Home:
    """A folder, what it is for, and how that differs from the folder that had the plain name before."""

    folder: Path
    identity: dict[str, Any]
    difference: tuple[str, ...]

    @property
    def new(self) -> bool:
        return not os.path.lexists(self.folder / RUN)


def trunk_home(root: Path, config: TrunkConfig) -> Home:
    """The folder of a trunk: `tiny_rope_trunk_s42`."""
    return _find(root, _name(config, "trunk"), {"trunk": to_dict(config)})


def branch_home(root: Path, config: TrunkConfig, branch: Branch) -> Home:
    """The folder of a budget: `tiny_rope_2.4B_s42`."""
    identity = {"trunk": to_dict(config), "branch": to_dict(branch)}
    return _find(root, _name(config, write_tokens(branch.budget)), identity)


def _name(config: TrunkConfig, part: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9=.,+-]+", "-", config.encoding).strip("-")
    return f"{config.size}_{plain[:LONGEST]}_{part}_s{config.seed}"


def _find(root: Path, name: str, identity: dict[str, Any]) -> Home:
    """The first version of the name that is free or holds just this."""
    difference: tuple[str, ...] = ()
    for version in count(1):
        folder = root / (name if version == 1 else f"{name}_v{version}")
        if not os.path.lexists(folder / RUN):
            return Home(folder, identity, difference)
        kept = read_identity(folder)
        if kept == _as_read(identity):
            return Home(folder, identity, difference)
        difference = tuple(_differences(kept, _as_read(identity)))
    raise AssertionError("count has no end")


def read_identity(folder: Path) -> dict[str, Any]:
    """What a folder was made for."""
    content = read_json(folder / RUN)
    kept = content.get("identity") if isinstance(content, dict) else None
    if not isinstance(kept, dict):
        raise InputError(f"{folder / RUN} is damaged (it does not say what it is for): move the folder away")
    return kept


def _as_read(identity: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from JSON, which knows no tuples."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    made: dict[str, Any] = plain(identity)
    return made


def _differences(old: dict[str, Any], new: dict[str, Any], where: str = "") -> list[str]:
    found = []
    for key in sorted(old.keys() | new.keys()):
        before, after, name = old.get(key), new.get(key), f"{where}{key}"
        if isinstance(before, dict) and isinstance(after, dict):
            found += _differences(before, after, f"{name}.")
        elif before != after:
            found.append(f"{name}: {before} there, {after} here")
    return found
