"""transformers, if it is there."""

from typing import Any

from ordinate.core.errors import InputError
from ordinate.core.extras import optional

OLDEST = 5  # rope_parameters and keywords that reach the attention function: both came with it


def transformers() -> Any:
    """The package, imported now."""
    package = optional("transformers")
    if int(package.__version__.partition(".")[0]) < OLDEST:
        raise InputError(f"this needs transformers {OLDEST} or later, found {package.__version__}: upgrade it")
    return package
