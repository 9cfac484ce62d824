"""The folders that the app shows: the user's store, the examples that come with it, and those of language models."""

import os
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store import Store, open_store
from ordinate.store.examples import open_examples

# The variables by which `ordinate app` passes the folders to its server.
STORE, CHECKPOINTS, DATA = "ORDINATE_STORE", "ORDINATE_CHECKPOINTS", "ORDINATE_DATA"


def own() -> Store:
    """The user's store; it need not exist yet."""
    return open_store(Path(os.environ.get(STORE, "runs")))


def both() -> dict[str, Store]:
    """By their names in addresses."""
    return {"own": own(), "examples": open_examples()}


def named(name: str) -> Store:
    found = both()
    if name not in found:
        raise InputError(f"no store {name!r}: choose own or examples")
    return found[name]


def checkpoints() -> Path:
    """What `ordinate lm train` writes to; it need not exist yet."""
    return Path(os.environ.get(CHECKPOINTS, "checkpoints"))


def data() -> Path:
    """What `ordinate lm prepare` makes corpora in."""
    return Path(os.environ.get(DATA, "data"))
