"""Waves of random frequencies against the positions of Segment Anything."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from transformers.models.sam.configuration_sam import SamVisionConfig
from transformers.models.sam.modeling_sam import SamPositionalEmbedding

from ordinate import ModelConfig, Transformer
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


@compare
@given(st.integers(1, 32), st.integers(1, 20), st.floats(0.1, 20), st.booleans())
def test_segment_anything(half: int, side: int, sigma: float, scaled: bool) -> None:
    """Points anywhere in a picture, on its own matrix; divided by the side there, or before."""
    sam = SamPositionalEmbedding(SamVisionConfig(num_pos_feats=half, scale=sigma))
    ours = create("random_fourier", dim=2 * half, heads=1, length=side, axes=2, centered=True)
    ours.matrix.copy_(sam.positional_embedding.detach())
    at = torch.rand(1, 1, 30, 2) * side
    theirs = sam(at, input_shape=(side, side)) if scaled else sam(at / side)
    found = ours.embed(torch.zeros(1, 30, 2 * half), Positions(at[0]))
    largest = 6.3 * sigma * 5  # radians: their last digit is what two roundings may differ by
    assert_close(found, theirs[0], atol=max(largest, 1) * 2.0**-21, rtol=0)


@compare
@given(st.integers(1, 33), st.integers(1, 3), st.booleans(), st.sampled_from([None, 7.0]))
def test_closed_form(dim: int, axes: int, centered: bool, normalizer: float | None) -> None:
    """In double precision; an odd width drops the last cosine."""
    ours = create(
        "random_fourier", dim=dim, heads=1, length=12, axes=axes, centered=centered, normalizer=normalizer, sigma=2.0
    ).double()
    at = torch.randn(1, 9, axes, dtype=torch.float64) * 10
    share = at / (normalizer or 12)
    angle = 2 * torch.pi * ((2 * share - 1 if centered else share) @ ours.matrix)
    truth = torch.cat((angle.sin(), angle.cos()), dim=-1)[..., :dim]
    assert_close(ours.embed(torch.zeros(1, 9, dim, dtype=torch.float64), Positions(at)), truth)


def test_the_matrix_is_drawn_from_the_generator_and_never_trained() -> None:
    one, same, other = (create("random_fourier", dim=64, heads=1, length=9, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.matrix, same.matrix) and not torch.equal(one.matrix, other.matrix)
    assert list(one.parameters()) == [] and list(one.state_dict()) == ["matrix"]
    upcast = create("random_fourier", dim=8000, heads=1, length=9, sigma=3.0)
    assert upcast.matrix.std().item() == pytest.approx(3.0, rel=0.05)


def test_the_matrix_travels_with_the_weights() -> None:
    config = ModelConfig(vocabulary=5, dim=16, heads=2, layers=1, length=8, encoding="random_fourier")
    one, other = (Transformer(config, seed=seed).eval() for seed in (1, 2))
    other.load_state_dict(one.state_dict())
    x = torch.randint(5, (2, 8))
    assert torch.equal(one(x), other(x))
    with torch.device("meta"):
        later = Transformer(config)
    assert torch.equal(later.materialize("cpu", seed=1).eval()(x), one(x))


def test_a_narrower_model_keeps_the_frequencies() -> None:
    """At position 8,000 the rounding of a frequency to bfloat16 would be several turns; wider types are followed."""
    ours, far = create("random_fourier", dim=32, heads=1, length=64), Positions(torch.tensor([[[8000]]]))
    expected = ours.table(far)
    assert torch.equal(ours.bfloat16().table(far), expected)
    assert torch.equal(ours.half().table(far), expected)
    assert ours.double().matrix.dtype == torch.float64
