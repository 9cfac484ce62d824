"""Small samples for the baselines, and few looks at what is installed: how well both work is tested elsewhere."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from ordinate.core.registry import Registry
from ordinate.results.comparison import Comparison
from ordinate.store import Store
from ordinate.studies import local
from ordinate.studies.compare import compare
from ordinate.training import baselines, resolve, train

from . import made
from .processes import Forked

Stores = Callable[[str], Store]


@pytest.fixture(autouse=True, scope="package")
def _quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "SEQUENCES", 1000)
        patch.setattr(Registry, "_plugins", cache(Registry._plugins))
        yield


@pytest.fixture(scope="package")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Baselines to put into a store: a worker that is no fork of this process would take large samples for them."""
    store = Store(tmp_path_factory.mktemp("known"))
    train(resolve(made.SETTINGS | dict(task=made.TASK, encoding="none", steps=1)), store)
    return store.folder / "baselines"


@dataclass(frozen=True)
class Whole:
    """A comparison that nothing disturbed: one run after the other, in one process."""

    store: Store
    comparison: Comparison


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory, known: Path) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    shutil.copytree(known, folder / "baselines")
    found = compare(made.TASK, made.ENCODINGS, store=folder, workers=0, **made.SWEPT, **made.SETTINGS)
    return Whole(Store(folder), found)


@pytest.fixture
def new_store(tmp_path: Path, known: Path) -> Stores:
    """A store, by its name, without any run."""

    def make(name: str) -> Store:
        shutil.copytree(known, tmp_path / name / "baselines")
        return Store(tmp_path / name)

    return make


@pytest.fixture
def store(new_store: Stores) -> Store:
    return new_store("store")


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers be forked off this process, or off its forks."""
    monkeypatch.setattr(local, "subprocess", SimpleNamespace(Popen=Forked, PIPE=subprocess.PIPE))
