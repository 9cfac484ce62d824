"""transformers, if it is there."""

import importlib
from typing import Any

from ordinate.core.errors import InputError

OLDEST = 5  # rope_parameters and keywords that reach the attention function: both came with it


def transformers() -> Any:
    """The package, imported now."""
    try:
        found = importlib.import_module("transformers")
    except ImportError as error:
        raise InputError(
            f"this needs the package transformers, which cannot be imported ({error}): pip install ordinate[oracles]"
        ) from error
    if int(found.__version__.partition(".")[0]) < OLDEST:
        raise InputError(f"this needs transformers {OLDEST} or later, found {found.__version__}: upgrade it")
    return found
