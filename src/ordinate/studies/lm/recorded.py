"""The comparisons and studies of one's own that were begun in a folder of checkpoints, so that an app can show them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.core.config import build, digest, to_dict
from ordinate.core.errors import InputError
from ordinate.lm.evaluation.config import EvalConfig
from ordinate.results.serialize import read, write
from ordinate.store.documents import check_sum, known_schema, write_document
from ordinate.store.files import read_json
from ordinate.studies.lm.comparison import ModelArm
from ordinate.studies.lm.study import LMPart, LMStudy, PublishedRatio
from ordinate.studies.lm.study_file import names

FOLDER = ".comparisons"  # in that of the checkpoints
_TEXTS = ("name", "typed", "title", "question", "source")  # of a study


@dataclass(frozen=True)
class RecordedStudy:
    """A study, the fingerprint of the text it is on, and the command that goes on with it."""

    id: str
    study: LMStudy
    corpus: str
    command: str


def record_study(root: Path, study: LMStudy, corpus: str, command: str) -> None:
    """Keep what a study consists of. Those that come with the program are known."""
    if study.typed in names():
        return
    content = _content(study) | {"corpus": corpus, "command": command}
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    write_document(root / FOLDER / f"{digest(content)}.json", content, indent=1)


def recorded_studies(root: Path) -> tuple[list[RecordedStudy], list[str]]:
    """Those of a folder, the newest first, and the errors of what cannot be read."""
    found, damaged = [], []
    for path in sorted((root / FOLDER).glob("*.json"), key=lambda path: -path.stat().st_mtime_ns):
        try:
            found.append(_read(path))
        except InputError as error:
            damaged.append(str(error))
    return found, damaged


def _content(study: LMStudy) -> dict[str, Any]:
    parts = [
        {
            "name": part.name, "about": part.about, "size": part.size, "seeds": part.seeds, "budget": part.budget,
            "arms": write(part.arms), "settings": dict(part.settings), "evaluation": to_dict(part.evaluation),
            "published": write(part.published),
        }
        for part in study.parts
    ]  # fmt: skip
    whole: dict[str, Any] = json.loads(json.dumps({name: getattr(study, name) for name in _TEXTS} | {"parts": parts}))
    return whole  # without tuples, so that it has one digest


def _read(path: Path) -> RecordedStudy:
    content = known_schema(read_json(path), path)
    try:
        check_sum(content)
        parts = tuple(map(_part, content["parts"]))
        study = LMStudy(**{name: str(content[name]) for name in _TEXTS}, parts=parts)
        return RecordedStudy(path.stem, study, str(content["corpus"]), str(content["command"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}): move it away") from error


def _part(content: Mapping[str, Any]) -> LMPart:
    return LMPart(
        str(content["name"]), str(content["about"]), str(content["size"]),
        tuple(read(ModelArm, arm, "arm") for arm in content["arms"]), int(content["seeds"]), content["budget"],
        dict(content["settings"]), build(EvalConfig, content["evaluation"]),
        tuple(read(PublishedRatio, ratio, "ratio") for ratio in content["published"]),
    )  # fmt: skip
