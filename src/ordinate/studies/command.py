"""A comparison as a command. It is kept without the folder that results go to, which may be moved or handed on."""

import shlex
from collections.abc import Mapping
from itertools import islice
from typing import Any

from ordinate.core.display import printable
from ordinate.core.parsing import write_value
from ordinate.studies.plan import Seeds, Study

_OPTIONS = {"--encodings": 1, "--quick": 0, "--within": 1, "--seeds": 1, "--rates": 1}  # with how many words after it


def write_command(
    study: Study, settings: Mapping[str, Any], within: float | None = None, seeds: Seeds | None = None
) -> str:
    """The command that makes this comparison again; with `within`, seeds only if they were given."""
    words = ["ordinate", "compare", ",".join(study.tasks), "--encodings", ",".join(study.encodings)]
    words += ["--quick"] if study.quick else []
    words += ["--within", f"{within:g}s"] if within is not None else []
    words += ["--seeds", str(study.seeds)] if within is None or seeds is not None else []
    words += ["--rates", ",".join(map(repr, study.rates))] if study.rates else []
    given = {key: value for key, value in settings.items() if key != "model"}
    given |= {f"model.{key}": value for key, value in settings.get("model", {}).items()}
    return shlex.join([*words, *(f"{key}={write_value(value)}" for key, value in given.items())])


def with_steps(command: str, study: Study, task: str, steps: int) -> str:
    """The comparison of this command on one of its tasks alone, with so many steps and all else as it was planned."""
    words, rest = ["ordinate", "compare", task], iter(shlex.split(command)[3:])
    base = next(config for name, _, config in study.bases if name == task)
    fitted = False
    for word in rest:
        if word == "--within":  # which may have chosen width, budget and seeds
            fitted = bool(next(rest, ""))
        elif not word.startswith(("steps=", "epochs=")):
            words.append(word)
    if fitted:
        words += [] if "--seeds" in words else ["--seeds", str(study.seeds)]
        words += [] if any(word.startswith(("dim=", "model.dim=")) for word in words) else [f"dim={base.model.dim}"]
    return shlex.join([*words, f"steps={steps}"])


def check_command(text: Any) -> str:
    """A command from a file, which may be a stranger's, if it is one that `write_command` writes; a ValueError if not.

    A store that it names is left out.
    """
    words = shlex.split(text) if isinstance(text, str) and printable(text) else []
    if words[:2] != ["ordinate", "compare"]:
        raise ValueError("its command is none")
    kept, rest = words[:2], iter(words[2:])
    for word in rest:
        if word == "--store":
            next(rest, None)
        elif word in _OPTIONS:
            kept += [word, *islice(rest, _OPTIONS[word])]
        elif word.startswith("-"):
            raise ValueError(f"its command has {word}")
        else:
            kept.append(word)
    return shlex.join(kept)
