"""The comparisons that come with the program."""

from ordinate.store.store import Store, open_store


def open_examples() -> Store:
    """A store to read from."""
    return open_store("examples")
