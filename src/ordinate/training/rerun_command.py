"""A run that was made, as its user would ask for it: what differs from the usual settings, and the command."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.core.parsing import write_value
from ordinate.training.config import FROM_TASK, resolve

Settings = dict[str, Any]

ROUNDS = 4  # what is usual follows from other settings, which follow from others, but never further than this


def flat(config: Mapping[str, Any]) -> Settings:
    """A kept configuration without levels: `dim`, as people write it, and not `model.dim`."""
    plain = json.loads(json.dumps(config))
    model = plain.pop("model", {})
    return {**plain, **model}


def usual(config: Mapping[str, Any]) -> Settings | None:
    """The same task and encoding with nothing else given; none if this program does not know them."""
    return _resolved({"task": config["task"], "encoding": config["model"]["encoding"]})


def command(config: Mapping[str, Any]) -> str | None:
    """What makes the run again; none if this program cannot, because it lacks something."""
    wanted, encoding = flat(config), config["model"]["encoding"]
    if not isinstance(encoding, str):
        return None  # a list that differs by layer is written in a file of settings
    given: Settings = {}
    for _ in range(ROUNDS):
        found = _resolved({"task": config["task"], "encoding": encoding, **given})
        if found is None:
            return None
        other = {key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key)}
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
