import pytest
import torch
from scipy.stats import chisquare

from ordinate import tasks
from ordinate.core.seeds import generator


@pytest.mark.parametrize("length", [1, 2, 7, 10])
def test_every_number_of_zeros_but_a_tie_is_equally_likely(length: int) -> None:
    batch = tasks.create("binary_majority").sample(20_000, length, generator(length))
    zeros = torch.bincount((batch.tokens == 0).sum(dim=1), minlength=length + 1).tolist()
    if length % 2 == 0:
        assert zeros.pop(length // 2) == 0
    assert chisquare(zeros).pvalue > 0.001


def test_bits_stand_anywhere() -> None:
    batch = tasks.create("binary_majority").sample(20_000, 9, generator(0))
    assert batch.tokens[:, :-1].float().mean(dim=0) == pytest.approx([0.5] * 9, abs=0.015)
