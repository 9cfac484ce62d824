"""Parameters of encodings and tasks, read from the signatures of their constructors and checked strictly."""

import inspect
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ordinate.core.errors import InputError, nearest

LARGEST_WHOLE = 2**31 - 1  # sizes of tensors beyond this are mistakes
LARGEST_INTEGER = 2**63 - 1  # that a computer counts with; seeds may be so large
LARGEST_NUMBER = (2 - 2**-23) * 2.0**127  # of float32


@dataclass(frozen=True)
class Param:
    """Beside a type in `Annotated[...]`: what a parameter means and where it may lie (both ends included)."""

    help: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Parameter:
    """One keyword of a constructor."""

    name: str
    type: Any
    default: Any
    help: str
    low: float | None
    high: float | None

    @property
    def choices(self) -> tuple[Any, ...]:
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def kind(self) -> str:
        """The type in words: `number`, `one of a, b, c`."""
        if self.choices:
            return "one of " + ", ".join(str(c) for c in self.choices)
        members = [t for t in _members(self.type) if t is not type(None)]
        words = {float: "number", int: "whole number", bool: "true or false", str: "text"}
        return " or ".join(words.get(t) or "list of numbers" for t in members)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for listings."""
        return {
            "name": self.name, "kind": self.kind(), "default": self.default, "help": self.help, "low": self.low,
            "high": self.high, "choices": list(self.choices),
        }  # fmt: skip

    def check(self, owner: str, value: Any) -> Any:
        """The value in its declared type, or a clear refusal."""
        if self.choices:
            value = "none" if value is None else value  # written without quotes, `none` was read as nothing
            if value not in self.choices:
                hint = nearest(str(value), map(str, self.choices))
                raise InputError(f"{_of(owner, self.name)} must be {self.kind()}, got {value!r}: {hint}")
            return self.choices[self.choices.index(value)]  # 180 for 180.0
        for member in _members(self.type):
            ok, cast = _fits(member, value)
            if ok:
                self._check_range(owner, cast)
                return cast
        raise InputError(f"{_of(owner, self.name)} must be a {self.kind()}, got {value!r}")

    def _check_range(self, owner: str, value: Any) -> None:
        numbers = value if isinstance(value, tuple) else (value,)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            below, above = self.low is not None and number < self.low, self.high is not None and number > self.high
            finite = isinstance(number, int) or math.isfinite(number)
            if below or above or not finite:
                edges = [f"at least {self.low:.10g}"] if self.low is not None else []
                edges += [f"at most {self.high:.10g}"] if self.high is not None else []
                edges += [] if finite else ["finite"]
                raise InputError(f"{_of(owner, self.name)} must be {' and '.join(edges)}, got {number!r}")


def _of(owner: str, name: str) -> str:
    return f"{owner} parameter {name}" if owner else name


def parameters(cls: type) -> dict[str, Parameter]:
    """The keyword-only parameters of a class, by name."""
    make = cls.__init__  # type: ignore[misc]
    hints = get_type_hints(make, include_extras=True)
    found = {}
    for name, item in inspect.signature(make).parameters.items():
        if item.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if name not in hints:
            raise InputError(
                f"parameter {name} of {cls.__name__} has no type: write {name}: Annotated[float, Param(...)]"
            )
        declared, param = hints[name], Param("")
        if get_origin(declared) is Annotated:
            declared, param = get_args(declared)[:2]
        if item.default is inspect.Parameter.empty:
            raise InputError(f"parameter {name} of {cls.__name__} has no default: give it one")
        found[name] = Parameter(name, declared, item.default, param.help, param.low, param.high)
    return found


def checked(cls: type, owner: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given parameters in their declared types. Unknown ones are errors that name the known ones."""
    known = parameters(cls)
    unknown = [name for name in given if name not in known]
    if unknown:
        listed = f"known: {', '.join(known)}" if known else "it takes none"
        close = nearest(unknown[0], known)
        hint = f"{close} ({listed})" if close.startswith("did you") else listed
        raise InputError(f"{owner} has no parameter {', '.join(unknown)}: {hint}")
    found = {name: known[name].check(owner, value) for name, value in given.items()}
    for name, value in found.items():
        if known[name].high is None:
            _check_size(_of(owner, name), value)
    return found


def _check_size(what: str, value: Any) -> None:
    """Refuse numbers that no tensor can hold."""
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, int | float):
            most = LARGEST_WHOLE if isinstance(number, int) else LARGEST_NUMBER
            if abs(number) > most:
                side = f"at most {most:.10g}" if number > 0 else f"at least {-most:.10g}"
                raise InputError(f"{what} must be {side}, got {_float(number):g}")


def _members(declared: Any) -> tuple[Any, ...]:
    return get_args(declared) if get_origin(declared) in (Union, types.UnionType) else (declared,)


def _float(value: float) -> float:
    """A number as float; infinite where it has none."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _fits(declared: Any, value: Any) -> tuple[bool, Any]:
    if declared is type(None):
        return value is None, None
    if declared is bool or isinstance(value, bool):
        return declared is bool and isinstance(value, bool), value
    if declared is float:
        return isinstance(value, int | float), _float(value) if isinstance(value, int | float) else value
    if declared is int:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole, int(value) if whole else value
    if declared is str:
        return isinstance(value, str), value
    if get_origin(declared) is tuple and isinstance(value, list | tuple):
        inner = get_args(declared)[0]
        pairs = [_fits(inner, v) for v in value]
        return all(ok for ok, _ in pairs), tuple(v for _, v in pairs)
    return False, value
