"""What encodings add beside token embeddings, in the three ways that a study compares."""

import math
from pathlib import Path

import pytest

from ordinate.encodings import canonical
from ordinate.lm.added_size import added_ratio, scale_by_default, short_name
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.checkpoint_folder import result_of
from ordinate.lm.config import Options, resolve
from ordinate.text.corpus import Corpus

from .small import DEVICE, decay, small_config

LENGTH, DIM, STD = 1024, 512, 0.02  # of tiny


def _digits(base: int, shift: float = 0.0, over: float = 1.0) -> float:
    """The root mean square of the digits of all positions, zeros on the left, by Python's own arithmetic."""
    total = 0.0
    for position in range(LENGTH):
        for place in range(DIM):
            total += ((position // base**place % base - shift) / over) ** 2
    return math.sqrt(total / (LENGTH * DIM))


@pytest.mark.parametrize(
    ("name", "defined"),
    [("binary", _digits(2)), ("decimal", _digits(10)), ("decimal_norm", _digits(10, 4.5, 4.5)), ("binary_norm", 1.0)],
)
def test_three_ways_to_add_digits(name: str, defined: float) -> None:
    ways = {"": defined / STD / math.sqrt(DIM), "(size=1)": 1.0, "(scale_tokens=false)": defined / STD}
    for way, ratio in ways.items():
        assert added_ratio(resolve("tiny", name + way, "")[0].model) == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "ratio"), [("none", 0), ("rope", 0), ("t5", 0), ("sinusoidal", 1), ("sinusoidal(size=none)", 1.5625)]
)
def test_other_encodings_add_nothing_or_as_much_as_they_are_told(name: str, ratio: float) -> None:
    assert added_ratio(resolve("tiny", name, "")[0].model) == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("rope", "rope"),
        ("rope(base=500)", "rope(base=500)"),
        ("learned", "learned(scale_tokens=true)"),
        ("learned(rows=64)", "learned(rows=64,scale_tokens=true)"),
        ("learned(scale_tokens=false)", "learned"),
        ("segment+sinonly(base=500)", "segment+sinonly(base=500,scale_tokens=true)"),
    ],
)
def test_scaled_tokens_are_the_default_and_have_the_short_name(text: str, whole: str) -> None:
    assert canonical(scale_by_default(text)) == whole
    assert short_name(whole) == text


def test_the_ratio_is_in_the_result_and_ways_have_folders_of_their_own(corpus: Corpus, tmp_path: Path) -> None:
    names = set()
    for text in ("binary", "binary(size=1)", "binary(scale_tokens=false)"):
        config = small_config(corpus, text)
        training = BranchedTraining(config, corpus, tmp_path, Options(device=DEVICE, valid_tokens=64))
        (folder,) = training.run(branches(config, [8 * config.step_tokens], decay))
        result = result_of(folder)
        assert result is not None and result.added_ratio == added_ratio(config.model)
        names.add(folder.name)
    assert names == {
        "nano_binary_512_s42", "nano_binary-size=1_512_s42", "nano_binary-scale-tokens=false_512_s42",
    }  # fmt: skip
