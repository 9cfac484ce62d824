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


def command(config: Mapping[str, Any], **changes: Any) -> str | None:
    """The command that repeats the run, with these settings changed; none if this program cannot."""
    encoding = config["model"]["encoding"]
    if not isinstance(encoding, str):
        return None  # a list that differs by layer is written in a file of settings
    given = _given(config)
    if given is None:
        return None
    pairs = [f"{key}={write_value(value)}" for key, value in (given | changes).items()]
    return shlex.join(["ordinate", "train", config["task"], "--encoding", encoding, *pairs])


def _given(config: Mapping[str, Any]) -> Settings | None:
    """The fewest settings that make this configuration; none if this program cannot."""
    wanted = flat(config)
    named = {"task": config["task"], "encoding": config["model"]["encoding"]}
    given: Settings = {}
    for _ in range(ROUNDS):
        resolved = _resolved({**named, **given})
        if resolved is None:
            return None
        other = {key for key in wanted.keys() | resolved.keys() if wanted.get(key) != resolved.get(key)}
        if not other:
            break
        given |= {key: wanted[key] for key in wanted if key in other and key not in FROM_TASK}
    else:
        return None
    for key in list(given):  # of which others have become the default
        fewer = {name: value for name, value in given.items() if name != key}
        given = fewer if _resolved({**named, **fewer}) == wanted else given
    return given


def _resolved(settings: Settings) -> Settings | None:
    try:
        return flat(to_dict(resolve(settings)))
    except InputError:
        return None
