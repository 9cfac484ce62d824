"""The command that repeats a stored run, with the settings that differ from the defaults."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.core.parsing import write_value
from ordinate.training.config import FROM_TASK, resolve

Settings = dict[str, Any]

ROUNDS = 4  # defaults depend on other settings, in chains no longer than this


def flat(config: Mapping[str, Any]) -> Settings:
    """A stored configuration without levels: `dim` in place of `model.dim`."""
    plain = json.loads(json.dumps(config))
    model = plain.pop("model", {})
    return {**plain, **model}


def usual(config: Mapping[str, Any]) -> Settings | None:
    """The defaults for this task and encoding; none if either is unknown here."""
    return _resolved({"task": config["task"], "encoding": config["model"]["encoding"]})


def command(config: Mapping[str, Any]) -> str | None:
    """The command that repeats the run; none if this program cannot."""
    wanted, encoding = flat(config), config["model"]["encoding"]
    if not isinstance(encoding, str):
        return None  # a list that differs by layer is written in a file of settings
    given: Settings = {}
    for _ in range(ROUNDS):
        resolved = _resolved({"task": config["task"], "encoding": encoding, **given})
        if resolved is None:
            return None
        other = {key for key in wanted.keys() | resolved.keys() if wanted.get(key) != resolved.get(key)}
        if not other:
            pairs = [f"{key}={write_value(value)}" for key, value in given.items()]
            return shlex.join(["ordinate", "train", config["task"], "--encoding", encoding, *pairs])
        given |= {key: wanted[key] for key in wanted if key in other and key not in FROM_TASK}
    return None


def _resolved(settings: Settings) -> Settings | None:
    try:
        return flat(to_dict(resolve(settings)))
    except InputError:
        return None
