"""A corpus small enough to train on in a moment."""

import random
from pathlib import Path

import pytest

from ordinate.lm import hardware
from ordinate.text.corpus import Corpus
from ordinate.text.prepare import prepare
from ordinate.text.request import request


@pytest.fixture(autouse=True)
def _unmetered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the speed of the machine to be measured."""
    monkeypatch.setattr(hardware, "SECONDS", 0.0)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Short documents of a few words, so that most rows hold several."""
    folder, source = tmp_path_factory.mktemp("corpus"), random.Random(0)
    (folder / "text").mkdir()
    for number in range(300):
        words = " ".join(source.choice(("one", "two", "three")) for _ in range(source.randint(1, 6)))
        (folder / "text" / f"{number:03d}.txt").write_text(f"{number}: {words}\n")
    return prepare(request(f"text:{folder / 'text'}", vocabulary=300, valid=0.1), Path(folder / "made"), workers=0)
