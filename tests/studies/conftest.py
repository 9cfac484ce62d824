"""Small samples for the baselines: how well they are measured is tested elsewhere."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ordinate.store import Store
from ordinate.studies import local
from ordinate.training import baselines, resolve, train

from . import made
from .processes import Forked

Stores = Callable[[str], Store]


@pytest.fixture(autouse=True, scope="package")
def _small_samples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "SEQUENCES", 1000)
        yield


@pytest.fixture(scope="package")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Baselines to put into a store: a worker that is no fork of this process would take large samples for them."""
    store = Store(tmp_path_factory.mktemp("known"))
    train(resolve(made.SETTINGS | dict(task=made.TASK, encoding="none", steps=1)), store)
    return store.folder / "baselines"


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
