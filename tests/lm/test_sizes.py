"""The sizes: exact counts, and what a step costs."""

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm.sizes import SIZES, defaults, flops_per_token, parameters
from ordinate.model import Transformer, preset

COUNTS = {"tiny": 58_727_680, "small": 163_598_592, "medium": 469_815_296, "large": 1_208_029_184}


@pytest.mark.parametrize(("size", "count"), COUNTS.items())
def test_the_four_sizes_have_the_documents_parameters_exactly(size: str, count: int) -> None:
    assert parameters(preset(size, encoding="rope")) == (count, 0)


def test_the_small_ones_have_about_one_and_five_million() -> None:
    assert parameters(preset("nano", encoding="rope"))[0] == pytest.approx(1e6, rel=0.25)
    assert parameters(preset("micro", encoding="rope"))[0] == pytest.approx(5e6, rel=0.1)


def test_an_encodings_own_parameters_are_counted_apart() -> None:
    assert parameters(preset("tiny", encoding="learned")) == (COUNTS["tiny"], 1024 * 512)


@pytest.mark.parametrize("size", SIZES)
def test_budgets_rise(size: str) -> None:
    assert list(SIZES[size].budgets) == sorted(SIZES[size].budgets)


def test_operations_of_a_step_are_those_that_torch_counts() -> None:
    """Its counter sees all matrix products but those inside the attention kernel."""
    from torch.utils.flop_counter import FlopCounterMode

    config = preset("nano", encoding="rope")
    model = Transformer(config)
    tokens = torch.zeros(1, config.length, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(tokens).sum().backward()
    attention = 6 * config.layers * config.dim * config.length  # half of all pairs, twice two products forward
    assert counter.get_total_flops() / config.length == flops_per_token(config) - attention


def test_an_unknown_size_is_named() -> None:
    with pytest.raises(InputError, match="did you mean tiny"):
        defaults("tyny")
