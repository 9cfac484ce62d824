"""Pages drawn without a browser, over a store that nothing was trained for by the test itself."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from ordinate.app.pages import PAGES
from ordinate.app.stores import STORE
from ordinate.store import Store
from ordinate.studies import cost
from ordinate.studies.compare import compare
from ordinate.training import baselines
from ordinate.training.timing import Estimate

TINY = dict(
    dim=16, heads=2, layers=1, steps=20, batch=8, train_lengths=[4, 8], ood_lengths=[12], evaluation_sequences=40
)
TASK = "k_back(k=1,vocabulary=4)"

Draw = Callable[..., AppTest]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished comparison of two encodings, two seeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "SEQUENCES", 1000)
        folder = tmp_path_factory.mktemp("trained")
        compare(TASK, "rope,alibi", seeds=2, store=folder, workers=0, lr=0.01, **TINY)
    return folder


@pytest.fixture(autouse=True, scope="package")
def _scanned_once() -> Iterator[None]:
    """Else every AppTest reads the metadata of all installed packages, in search of components: a third of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True)
def _timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page times a model here: the browser's tests do, and those of the estimate itself."""
    monkeypatch.setattr(cost, "estimate", lambda config: Estimate(0.01, 1.0, 100_000))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The user's store: empty."""
    monkeypatch.setenv(STORE, str(tmp_path / "runs"))
    return Store(tmp_path / "runs")


@pytest.fixture
def filled(own: Store, trained: Path) -> Store:
    """The user's store, with a finished comparison."""
    shutil.copytree(trained, own.folder)
    return own


def draw(page: str, session: dict[str, Any] | None = None, **view: str | list[str]) -> AppTest:
    """A page as main.py draws it, at an address that says `view`, for a visitor who comes with this session."""
    script = f"""
import streamlit as st
from ordinate.app import running_view
from ordinate.app.pages import {PAGES[page][0]} as drawn
from ordinate.core.errors import InputError
try:
    running_view.show()
    drawn.page()
except InputError as error:
    st.error(str(error))
"""
    at = AppTest.from_string(script, default_timeout=120)
    for key, value in view.items():
        at.query_params[key] = value
    for key, value in (session or {}).items():
        at.session_state[key] = value
    return at.run()
