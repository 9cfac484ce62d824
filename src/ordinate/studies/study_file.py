"""Studies as TOML files: comparisons that answer one question, and the published figures they are held against."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from ordinate import encodings as all_encodings
from ordinate.core.errors import InputError, nearest
from ordinate.core.parsing import write_value
from ordinate.studies import measures
from ordinate.studies.plan import Seeds
from ordinate.studies.study_definition import MATRIX, Part, Published, PublishedClaim, StudyFile
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
MOST_PARTS = 200


def names() -> list[str]:
    """The studies that come with the program."""
    return names_below(FOLDER)


def titles() -> dict[str, str]:
    """The question of each, without planning any run."""
    return questions_below(FOLDER)


def load(name: str | Path) -> StudyFile:
    """A study that comes with the program, by its name, or one of a user's, by the path of its file."""
    text = str(name)
    if text in names():
        return _study(text, text, read_study(FOLDER / f"{text}.toml"))
    if not text.endswith(".toml"):
        raise InputError(f"no study {text!r}: {nearest(text, names())}; a study of your own is a file FILE.toml")
    return _study(Path(text).stem, text, read_study(Path(text)))


def _study(name: str, typed: str, content: dict[str, Any]) -> StudyFile:
    try:
        known_keys(content, ("title", "question", "source", "parts", "claims", "interaction", "matrix"), "a study")
        tables = tables_in(content.get("parts", []), "parts")
        if not tables:
            raise InputError("it has no parts: add a table [[parts]]")
        whole: dict[str, dict[str, Any]] = {}
        parts = [part for table in tables for part in _parts(table, whole)]
        if len(parts) > MOST_PARTS:
            raise InputError(f"its grids have {len(parts):,} comparisons: {MOST_PARTS} are the most")
        check_unique([part.name for part in parts])
        claims = [_claim(table, parts) for table in tables_in(content.get("claims", []), "claims")]
        title, question = (needed_text(content, key, "the study") for key in ("title", "question"))
        source = text_in(content, "source")
        over = [measures.find(m).name for m in names_in(content.get("interaction", []), name, "measures")]
        matrix = _matrix(table_in(content, "matrix"), parts)
        return StudyFile(name, typed, title, question, source, tuple(parts), tuple(claims), tuple(over), matrix)
    except InputError as error:
        raise InputError(f"study {name}: {error}") from error


_INHERITED = ("tasks", "encodings", "seeds", "rates", "measures")  # by a part that is like another, as are settings
_PART = ("name", "about", "like", *_INHERITED, "settings", "grid", "published")


def _parts(table: dict[str, Any], whole: dict[str, dict[str, Any]]) -> Iterator[Part]:
    """One part, or one for each point of its grid; `whole` has the tables so far, for parts that are like them."""
    known_keys(table, _PART, "a part")
    name, like = needed_text(table, "name", "a part"), table.get("like")
    if like is not None and (not isinstance(like, str) or like not in whole):
        raise InputError(f"part {name!r} is like {like!r}, and no part before it has that name")
    inherited: dict[str, Any] = whole[like] if like is not None else {}
    merged = inherited | {key: table[key] for key in _INHERITED if key in table}
    own = table_in(table, "settings")
    common: dict[str, Any] = {**inherited.get("settings", {}), **own}
    whole[name] = merged | {"settings": common}
    if "grid" in table and not table["grid"]:
        raise InputError(f"the grid of part {name!r} has no key: name at least one, as in layers = [1, 4]")
    grid = _grid(name, table_in(table, "grid"))
    for point in grid:
        at = ", ".join(f"{key}={write_value(value)}" for key, value in point.items())
        tasks = names_in(point.get("tasks", merged.get("tasks")), name, "tasks")
        settings = common | {key: value for key, value in point.items() if key != "tasks"}
        chosen = tuple(all_encodings.canonical(text) for text in names_in(merged.get("encodings"), name, "encodings"))
        differs = {key: table[key] for key in ("tasks",) if key in table} | own | point
        yield Part(
            name=f"{name}, {at}" if at else name, tasks=tasks, encodings=chosen, settings=settings,
            about=text_in(table, "about"), seeds=_seeds(merged.get("seeds"), name),
            rates=_rates(merged.get("rates"), name), base=like,
            differs=differs if like else {}, published=_published(table_in(table, "published"), name, chosen),
            measures=tuple(measures.find(m).name for m in names_in(merged.get("measures", []), name, "measures")),
        )  # fmt: skip


def _grid(name: str, axes: dict[str, Any]) -> list[dict[str, Any]]:
    """All points of a grid; one without any key if there is no grid."""
    for key, values in axes.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"the grid of part {name!r} has no values for {key}: give a list, as in {key} = [1, 4]")
    if (size := math.prod(len(values) for values in axes.values())) > MOST_PARTS:
        raise InputError(f"the grid of part {name!r} has {size:,} points: {MOST_PARTS} are the most")
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]


def _published(table: dict[str, Any], name: str, encodings: tuple[str, ...]) -> tuple[Published, ...]:
    found = []
    for text, row in table.items():
        encoding = all_encodings.canonical(text)
        if encoding not in encodings:
            raise InputError(f"part {name!r} publishes figures of {text}, which it does not compare")
        if not isinstance(row, dict):
            raise InputError(f"the published figures of {text} are {row!r}: write {text} = {{accuracy = 0.95}}")
        for key, value in row.items():
            measure = measures.find(key)
            ends = value if isinstance(value, list) else [value, value]
            if len(ends) != 2 or not all(type(end) in (int, float) and math.isfinite(end) for end in ends):
                raise InputError(f"the published {key} of {text} is {value!r}: it must be a number, or [low, high]")
            low, high = map(float, ends)
            if low > high:
                raise InputError(f"the published {key} of {text} is {value!r}: give the lower end first")
            if low < 0:
                raise InputError(f"the published {key} of {text} is {value!r}: it cannot be negative")
            if measure.share and not 0 <= low <= high <= 1:
                raise InputError(f"the published {key} of {text} is {value!r}: it must lie between 0 and 1")
            found.append(Published(encoding, measure.name, (low + high) / 2, (high - low) / 2))
    return tuple(found)


def _claim(table: dict[str, Any], parts: list[Part]) -> PublishedClaim:
    sides = ("better", "worse", "learns", "fails", "extrapolates", "collapses")
    known_keys(table, ("text", "measure", "lower", *sides), "a claim")
    text, lower = needed_text(table, "text", "a claim"), table.get("lower", False)
    named = {side: names_in(table[side], text, side) for side in sides if side in table}
    better, worse, learns, fails, extrapolates, collapses = (named.get(side, ()) for side in sides)
    claim = PublishedClaim(text, "", better, worse, bool(lower), learns, fails, extrapolates, collapses)
    order = {"better", "worse", "measure"} & table.keys()
    if order and named.keys() & set(sides[2:]):
        raise InputError(f"the claim {text!r} is an order and more: make two claims of it")
    if len(order) < 3 and (order or not named):
        raise InputError(
            f"the claim {text!r} says nothing: give measure, better and worse, or some of {', '.join(sides[2:])}"
        )
    if unknown := [name for name in claim.names if not any(part.encoding(name) for part in parts)]:
        raise InputError(f"the claim {text!r} is about {unknown[0]}, which no part compares")
    if twice := {name for side in claim.opposites for name in side if side.count(name) > 1}:
        raise InputError(f"the claim {text!r} names {min(twice)} twice")
    if not isinstance(lower, bool):
        raise InputError(f"lower in the claim {text!r} is {lower!r}: it must be true or false")
    return replace(claim, measure=measures.find(text_in(table, "measure")).name) if claim.better else claim


def _matrix(table: dict[str, Any], parts: list[Part]) -> dict[str, dict[str, str]]:
    """What was published of the properties of encodings, in words."""
    for encoding, row in table.items():
        if not any(part.encoding(encoding) for part in parts):
            raise InputError(f"the matrix is about {encoding}, which no part compares")
        if not isinstance(row, dict) or not all(isinstance(text, str) for text in row.values()):
            raise InputError(f"the row of {encoding} in the matrix must be a table of texts, got {row!r}")
        known_keys(row, MATRIX, "the matrix")
    return table


def _seeds(value: Any, name: str) -> Seeds | None:
    if value is None or value == "auto":
        return "auto" if value else None
    if type(value) is int and value > 0:
        return value
    raise InputError(f"seeds of part {name!r} must be auto or a whole number of at least 1, got {value!r}")


def _rates(value: Any, name: str) -> tuple[float, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(rate) in (int, float) for rate in value):
        raise InputError(f"rates of part {name!r} must be a list of numbers, got {value!r}")
    return tuple(float(rate) for rate in value)
