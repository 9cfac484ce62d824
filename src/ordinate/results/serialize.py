"""Strict reading and writing of JSON objects. The annotations of a dataclass or TypedDict are the schema.

Every field of a dataclass is a required key, and other keys are refused. A TypedDict is checked and passed through
unchanged; it may hold more keys than it declares. Text must be printable, numbers finite and below `LARGEST`.
"""

import dataclasses
from collections.abc import Callable
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from ordinate.core.display import printable

LARGEST = 1e100  # no measured number is as large, and its square is infinite

T = TypeVar("T")
Reader = Callable[[Any, str, str], Any]  # a value, its name, and the name of the object that holds it


@dataclasses.dataclass(frozen=True)
class Between:
    """The bounds of a number: `Annotated[float, Between(0, 1)]`."""

    least: float
    most: float


def read(kind: type[T], content: Any, where: str) -> T:
    """Build `kind` from parsed JSON. Raises a ValueError that names the missing or wrong key and `where` it is."""
    reader: Reader = _reader(kind)  # type: ignore[arg-type]
    value: T = reader(content, "", where)
    return value


def write(value: Any) -> Any:
    """A dataclass as plain JSON data: what `read` reads back."""
    if dataclasses.is_dataclass(value):
        return {field.name: write(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [write(item) for item in value]
    if isinstance(value, dict):  # as JSON has it: the sum of a document must not depend on whether it was read
        return {str(key) if isinstance(key, int) else key: write(item) for key, item in value.items()}
    return value


def short(value: Any) -> str:
    """The value for an error message, at most 60 characters of it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


@cache
def _reader(kind: Any) -> Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind) or is_typeddict(kind):
        return partial(_object, kind)
    if origin is Annotated:
        return partial(_bounded, _reader(arguments[0]), arguments[1])
    if origin is Literal:
        return partial(_one_of, arguments)
    if origin is tuple and Ellipsis not in arguments:
        return partial(_row, [_reader(argument) for argument in arguments])
    if origin is tuple or origin is list:
        return partial(_list, _reader(arguments[0]), origin)
    if origin is dict:
        return partial(_table, _whole_key if arguments[0] is int else _reader(arguments[0]), _reader(arguments[1]))
    if origin in (UnionType, Union) and NoneType in arguments:
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return partial(_optional, _reader(inner))
    if origin in (UnionType, Union):
        return partial(_either, [_reader(argument) for argument in arguments])
    return {str: _text, int: _integer, float: _number, bool: _boolean}[kind]


@cache
def _fields(kind: Any) -> tuple[tuple[str, Reader], ...]:
    return tuple((name, _reader(hint)) for name, hint in get_type_hints(kind, include_extras=True).items())


def _object(kind: Any, content: Any, name: str, where: str) -> Any:
    inner = name or where
    if not isinstance(content, dict):
        raise ValueError(f"{name} in {where} is {short(content)}" if name else f"{where} is {short(content)}")
    values = {}
    for key, reader in _fields(kind):
        if key not in content:
            raise ValueError(f"{inner} has no {key}")
        values[key] = reader(content[key], key, inner)
    if is_typeddict(kind):
        return content
    if len(content) > len(values):
        raise ValueError(f"{inner} has an unknown key {short(min(content.keys() - values.keys()))}")
    return kind(**values)


def _bounded(inner: Reader, bounds: Between, value: Any, name: str, where: str) -> Any:
    return value if bounds.least <= inner(value, name, where) <= bounds.most else _refuse(value, name, where)


def _one_of(words: tuple[Any, ...], value: Any, name: str, where: str) -> Any:
    return value if isinstance(value, str) and value in words else _refuse(value, name, where)


def _list(inner: Reader, kind: Callable[[list[Any]], Any], value: Any, name: str, where: str) -> Any:
    items = value if isinstance(value, list) else _refuse(value, name, where)
    return kind([inner(item, name, where) for item in items])


def _row(readers: list[Reader], value: Any, name: str, where: str) -> Any:
    """Of a fixed length, each item with its own type."""
    items = value if isinstance(value, list) and len(value) == len(readers) else _refuse(value, name, where)
    return tuple(reader(item, name, where) for reader, item in zip(readers, items, strict=True))


def _table(key_reader: Reader, inner: Reader, value: Any, name: str, where: str) -> Any:
    table = value if isinstance(value, dict) else _refuse(value, name, where)
    return {key_reader(key, "a name", name): inner(item, key, name) for key, item in table.items()}


def _optional(inner: Reader, value: Any, name: str, where: str) -> Any:
    return None if value is None else inner(value, name, where)


def _either(readers: list[Reader], value: Any, name: str, where: str) -> Any:
    for reader in readers:
        try:
            return reader(value, name, where)
        except ValueError:
            continue
    _refuse(value, name, where)


def _text(value: Any, name: str, where: str) -> Any:
    return value if isinstance(value, str) and printable(value) else _refuse(value, name, where)


def _whole_key(value: Any, name: str, where: str) -> Any:
    """A whole number, which JSON writes as text where it is a key."""
    right = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 18
    return int(value) if right else _refuse(value, name, where)


def _boolean(value: Any, name: str, where: str) -> Any:
    return value if isinstance(value, bool) else _refuse(value, name, where)


def _integer(value: Any, name: str, where: str) -> Any:
    return value if type(value) is int and abs(value) < LARGEST else _refuse(value, name, where)


def _number(value: Any, name: str, where: str) -> Any:
    right = type(value) in (int, float) and abs(value) < LARGEST  # which NaN is not
    return float(value) if right else _refuse(value, name, where)


def _refuse(value: Any, name: str, where: str) -> NoReturn:
    raise ValueError(f"{name} in {where} is {short(value)}")
