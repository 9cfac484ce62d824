"""Results on disk: one folder per run, named by the hash of its configuration."""

from ordinate.store.run import Run
from ordinate.store.store import Store, open_store

__all__ = ["Run", "Store", "open_store"]
