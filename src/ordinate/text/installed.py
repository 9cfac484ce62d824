"""The packages that only language models need, imported when they are used."""

import importlib
from typing import Any

from ordinate.core.errors import InputError


def package(name: str) -> Any:
    """The package, or one of its modules."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"this needs {name}, which cannot be imported ({error}): pip install ordinate[lm]") from error
