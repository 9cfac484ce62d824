"""Finding encodings and tasks: one file in a package, or one entry point of an installed plug-in, is all it takes."""

import importlib
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Generic, TypeVar

from ordinate.core.errors import InputError, PluginWarning, error_text, nearest
from ordinate.core.parameters import Parameter, checked, parameters
from ordinate.core.parsing import Choice, write_value

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes of one kind by name. Each is imported on first use."""

    def __init__(self, kind: str, base: type[T], package: ModuleType, group: str) -> None:
        self.kind, self.base, self.package, self.group = kind, base, package, group

    def names(self) -> list[str]:
        """All names, built-in and from plug-ins, sorted."""
        return sorted({*self._files(), *self._plugins()})

    def get(self, name: str) -> type[T]:
        """The class with this name."""
        plugin = self._plugins().get(name)
        if name in self._files():
            if plugin is not None:
                _warn_once(
                    f"{self.kind} {name!r} is the built-in one: the plug-in {plugin.value} has the same name and is"
                    " ignored, rename that one to use it"
                )
            return self._from_module(f"{self.package.__name__}.{name}")
        if plugin is None:
            raise InputError(f"unknown {self.kind} {name!r}: {nearest(name, self.names())}")
        try:
            found = plugin.load()
        except (Exception, SystemExit) as error:  # a broken plug-in must be named, whatever its fault
            raise InputError(
                f"{self.kind} {name!r} comes from {plugin.value}, which cannot be loaded: {error_text(error)}"
            ) from error
        if isinstance(found, ModuleType):
            return self._from_module(found.__name__)
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise InputError(
                f"{self.kind} {name!r} comes from {plugin.value}, which is not a subclass of {self.base.__name__}"
            )
        return found

    def make(self, name: str, *given: Any, **parameters: Any) -> T:
        """Create one. An unexpected exception in a plug-in becomes an InputError that names it."""
        try:
            return self.get(name)(*given, **parameters)
        except (InputError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            if (source := self.source(name)) is None:
                raise
            raise InputError(
                f"{self.kind} {name!r} comes from {source}, which cannot be made: {error_text(error)}"
            ) from error

    def source(self, name: str) -> str | None:
        """The entry point, if it comes from a plug-in."""
        plugin = self._plugins().get(name)
        return None if plugin is None or name in self._files() else plugin.value

    def parameters(self, name: str) -> dict[str, Parameter]:
        """The parameters of one of them."""
        return parameters(self.get(name))

    def checked(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Parameters for one of them, in their declared types."""
        return checked(self.get(name), name, given)

    def canonical(self, choice: Choice) -> str:
        """One text for one meaning: parameters in order and in their types, those at their defaults left out."""
        known, given = self.parameters(choice.name), self.checked(choice.name, dict(choice.parameters))
        kept = {name: value for name, value in sorted(given.items()) if value != known[name].default}
        if not kept:
            return choice.name
        return f"{choice.name}({','.join(f'{name}={write_value(value)}' for name, value in kept.items())})"

    def _files(self) -> frozenset[str]:
        return _modules(_dated(self.package.__path__))

    def _plugins(self) -> dict[str, EntryPoint]:
        return _installed(self.group, _dated(sys.path))

    def _from_module(self, module_name: str) -> type[T]:
        try:
            module = importlib.import_module(module_name)
        except (Exception, SystemExit) as error:  # a newcomer's file, not yet right
            raise InputError(f"{module_name} cannot be imported: {type(error).__name__}: {error}") from error
        found = [
            item
            for item in vars(module).values()
            if isinstance(item, type) and issubclass(item, self.base) and item.__module__ == module.__name__
        ]
        if len(found) != 1:
            raise InputError(f"{module_name} must define exactly one {self.base.__name__}, found {len(found)}")
        return found[0]


@lru_cache(maxsize=64)
def _warn_once(sentence: str) -> None:
    warnings.warn(sentence, PluginWarning, stacklevel=4)


Dated = tuple[tuple[str, int], ...]


def _dated(folders: Iterable[str]) -> Dated:
    """Folders with their modification times: a new file, or a newly installed package, is found at once."""
    found = []
    for folder in folders:
        with suppress(OSError):
            found.append((folder, os.stat(folder or ".").st_mtime_ns))
    return tuple(found)


@lru_cache(maxsize=16)
def _modules(folders: Dated) -> frozenset[str]:
    """Cached: a page on many runs asks hundreds of times."""
    found = pkgutil.iter_modules([folder for folder, _ in folders])
    return frozenset(item.name for item in found if not item.name.startswith("_"))


@lru_cache(maxsize=16)
def _installed(group: str, search_path: Dated) -> dict[str, EntryPoint]:
    """Cached: reading all entry points takes longer than building a small model."""
    return {point.name: point for point in entry_points(group=group)}
