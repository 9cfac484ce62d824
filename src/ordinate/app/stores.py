"""The stores that the app shows: the user's, which comparisons are added to, and the examples that come with it."""

import os
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store import Store, open_store
from ordinate.store.examples import open_examples

STORE = "ORDINATE_STORE"  # the variable by which `ordinate app` passes the folder to its server


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
