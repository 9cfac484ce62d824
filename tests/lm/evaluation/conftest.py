"""A model that was hardly trained, on documents of which some are long, and texts of random tokens."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ordinate.lm.evaluation.scorer import Tokens
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import Transformer
from ordinate.text.corpus import Corpus
from ordinate.text.prepare import prepare
from ordinate.text.request import request

from ..small import small_config


@pytest.fixture(scope="session")
def long_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder, source = tmp_path_factory.mktemp("long"), random.Random(1)
    (folder / "text").mkdir()
    for number in range(40):
        words = " ".join(source.choice(("one", "two", "three", "four")) for _ in range(source.choice((3, 30, 300))))
        (folder / "text" / f"{number:03d}.txt").write_text(f"{number}: {words}\n")
    return prepare(request(f"text:{folder / 'text'}", vocabulary=300, valid=0.4), Path(folder / "made"), workers=0)


@pytest.fixture(scope="session")
def untrained(long_corpus: Corpus) -> Callable[..., TrainedModel]:
    """A model as if it came from a checkpoint, with any encoding."""

    def make(encoding: str = "rope") -> TrainedModel:
        config = small_config(long_corpus, encoding)
        model = Transformer(config.model, seed=3).eval()
        return TrainedModel(Path("checkpoints/it/latest.pt"), "0" * 64, config, None, 1, model)

    return make


@pytest.fixture
def documents() -> list[Tokens]:
    source = np.random.default_rng(0)
    return [np.concatenate(([0], source.integers(1, 300, size))) for size in (200, 150, 40, 260, 9)]
