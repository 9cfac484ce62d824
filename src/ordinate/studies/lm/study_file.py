"""Studies of language models as TOML files: comparisons that answer one question, with published ratios."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ordinate.core.config import build, to_dict
from ordinate.core.errors import InputError
from ordinate.lm.evaluation.config import EvalConfig
from ordinate.lm.token_counts import parse_tokens
from ordinate.studies.lm.comparison import EVALUATION, ModelArm
from ordinate.studies.lm.study import LMPart, LMStudy, LossSpot, PublishedRatio
from ordinate.studies.study_toml import (
    check_unique,
    known_keys,
    names_below,
    names_in,
    needed_text,
    questions_below,
    read_study,
    table_in,
    tables_in,
    text_in,
)

FOLDER = Path(__file__).parent / "files"
_INHERITED = ("size", "seeds", "budget", "settings", "evaluation")  # by all parts, from the study
_STUDY = ("title", "question", "source", "parts", *_INHERITED)
_PART = ("name", "about", "encodings", "scalings", "changes", "published", *_INHERITED)
_PUBLISHED = ("text", "above", "below", "value")
_SPOT = re.compile(r"(.+?)(?:@(\d+(?:\.\d+)?))?")


def names() -> list[str]:
    """The studies of language models that come with the program."""
    return names_below(FOLDER)


def titles() -> dict[str, str]:
    """The question of each."""
    return questions_below(FOLDER)


def headings() -> dict[str, str]:
    """The title of each, without planning any run."""
    return {name: str(read_study(FOLDER / f"{name}.toml").get("title", name)) for name in names()}


def is_lm_study(name: str | Path) -> bool:
    """Whether this is one of language models: by its name, or by what its file says."""
    text = str(name)
    if text in names():
        return True
    return text.endswith(".toml") and Path(text).is_file() and "size" in read_study(Path(text))


def load(name: str | Path) -> LMStudy:
    """One that comes with the program, by its name, or one of a user's, by the path of its file."""
    text = str(name)
    path = FOLDER / f"{text}.toml" if text in names() else Path(text)
    content = read_study(path)
    try:
        known_keys(content, _STUDY, "a study of language models")
        tables = tables_in(content.get("parts", []), "parts")
        if not tables:
            raise InputError("it has no parts: add a table [[parts]]")
        parts = [_part(table, content) for table in tables]
        check_unique([part.name for part in parts])
        title, question = (needed_text(content, key, "the study") for key in ("title", "question"))
        return LMStudy(path.stem, text, title, question, text_in(content, "source"), tuple(parts))
    except InputError as error:
        raise InputError(f"study {path.stem}: {error}") from error


def _part(table: Mapping[str, Any], study: Mapping[str, Any]) -> LMPart:
    known_keys(table, _PART, "a part")
    name = needed_text(table, "name", "a part")
    merged = {key: table.get(key, study.get(key)) for key in ("size", "seeds", "budget")}
    size, seeds = merged["size"], merged["seeds"]
    if not isinstance(size, str):
        raise InputError(f'part {name!r} has no size: write size = "nano"')
    if type(seeds) is not int:
        raise InputError(f"seeds of part {name!r} must be a whole number, got {seeds!r}")
    arms = [ModelArm(text) for text in names_in(table.get("encodings"), name, "encodings")]
    if "scalings" in table:
        scalings = names_in(table["scalings"], name, "scalings")
        arms += [ModelArm(arm.encoding, scaling) for arm in arms for scaling in scalings]
    arms += [_change(row, name) for row in tables_in(table.get("changes", []), "changes")]
    settings, layers = ({**table_in(study, key), **table_in(table, key)} for key in ("settings", "evaluation"))
    part = LMPart(
        name, text_in(table, "about"), size, tuple(arms), seeds, _budget(merged["budget"], name), settings,
        _evaluation(layers, name),
    )  # fmt: skip
    comparison = part.comparison("")  # everything is checked, on no text yet
    published = [_ratio(row, comparison.names, name) for row in tables_in(table.get("published", []), "published")]
    return LMPart(**{**vars(part), "arms": comparison.arms, "published": tuple(published)})


def _change(table: Mapping[str, Any], name: str) -> ModelArm:
    """An encoding that is changed during training: `{ encoding = "rope", to = "none", at = 0.5 }`."""
    known_keys(table, ("encoding", "to", "at"), "a change")
    encoding, to = (needed_text(table, key, "a change") for key in ("encoding", "to"))
    at = table.get("at")
    if at is not None and (type(at) is not float or not 0 < at < 1):
        raise InputError(f"at of a change in part {name!r} must lie between 0 and 1, got {at!r}")
    return ModelArm(encoding, to=to, at=at)


def _budget(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f'budget of part {name!r} must be a text, as in "2.5M", got {value!r}')
    return parse_tokens(value)


def _evaluation(table: Mapping[str, Any], name: str) -> EvalConfig:
    try:
        return build(EvalConfig, to_dict(EVALUATION), table)
    except InputError as error:
        raise InputError(f"part {name!r}: {error}") from error


def _ratio(table: Mapping[str, Any], arms: tuple[str, ...], name: str) -> PublishedRatio:
    known_keys(table, _PUBLISHED, "a published ratio")
    text, value = needed_text(table, "text", "a published ratio"), table.get("value")
    if type(value) not in (int, float) or not 0 < float(value) < 1e6:  # type: ignore[arg-type]
        raise InputError(f"the published ratio {text!r} has no value above 0, got {value!r}")
    above, below = (_spot(table, key, arms, name) for key in ("above", "below"))
    return PublishedRatio(text, above, below, float(value))  # type: ignore[arg-type]


def _spot(table: Mapping[str, Any], key: str, arms: tuple[str, ...], name: str) -> LossSpot:
    """`rope@4`: the loss of rope at four times the trained length."""
    match = _SPOT.fullmatch(needed_text(table, key, "a published ratio"))
    assert match is not None
    if match[1] not in arms:
        raise InputError(f"part {name!r} publishes a ratio of {match[1]}, which it does not compare")
    return LossSpot(match[1], float(match[2] or 1))
