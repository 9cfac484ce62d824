"""RoPE for longer contexts: every scaling against the functions that transformers has for it."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rotary_embedding_torch import RotaryEmbedding
from torch.testing import assert_close
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gpt_neox.modeling_gpt_neox import apply_rotary_pos_emb
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from ordinate.core.errors import InputError
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=20)
widths = st.integers(2, 32).map(lambda half: 4 * half)
bases = st.sampled_from([500.0, 1e4, 5e5])
factors = st.floats(1, 64)
originals = st.sampled_from([64, 100, 2048])
fractions = st.sampled_from([0.5, 1.0])
optional = st.none() | st.floats(0.1, 2)
deepseek = st.just({}) | st.fixed_dictionaries({"mscale": st.floats(0.1, 2), "mscale_all_dim": st.floats(0.1, 2)})
yarns = st.fixed_dictionaries(
    {
        "factor": factors,
        "truncate": st.booleans(),
        "beta_fast": st.floats(4, 64),
        "beta_slow": st.floats(0.5, 3),
        "attention_factor": optional,
    }
).flatmap(lambda plain: deepseek.map(lambda more: plain | more))


def check(scaling: str, width: int, base: float, original: int, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Frequencies, the factor on cos and sin, and rotated queries, up to and past the original length."""
    encoding = create("rope", dim=2 * width, heads=2, length=original, base=base, scaling=scaling, **ours)
    config = LlamaConfig(
        hidden_size=2 * width,
        num_attention_heads=2,
        max_position_embeddings=original,
        rope_parameters=dict(rope_type=scaling, rope_theta=base, original_max_position_embeddings=original, **theirs),
    )
    for length in (original // 2, original, 3 * original):
        positions = Positions.range(length)
        theta, factor = encoding.theta(positions)
        want, want_factor = ROPE_INIT_FUNCTIONS[scaling](config, "cpu", seq_len=length)
        # powers of a base in float32 are good to a few units in the seventh digit
        assert_close(theta.flatten(), want, atol=0, rtol=3e-6)
        assert abs(factor - want_factor) < 1e-12
        at = torch.tensor([[0, 1, length // 2, length - 1]])
        x = torch.randn(1, 2, 4, width)
        rotated, _ = apply_rotary_pos_emb(x, x, *LlamaRotaryEmbedding(config)(x, at))
        state = encoding.prepare(Positions(at.unsqueeze(-1)))
        off = (encoding.rotate(x, state, "k") - rotated).abs().amax(dim=(0, 1, 3))
        assert (off < 1e-5 * (1 + at[0])).all()  # as the frequencies, so the angles, times the position


@compare
@given(widths, bases, originals, factors, fractions)
def test_linear(width: int, base: float, original: int, factor: float, fraction: float) -> None:
    """Position interpolation."""
    theirs = {"factor": factor, "partial_rotary_factor": fraction}
    check("linear", width, base, original, {"factor": factor, "fraction": fraction}, theirs)


@compare
@given(widths, bases, originals, factors, fractions)
def test_dynamic(width: int, base: float, original: int, factor: float, fraction: float) -> None:
    """The base grows with the current length."""
    theirs = {"factor": factor, "partial_rotary_factor": fraction}
    check("dynamic", width, base, original, {"factor": factor, "fraction": fraction}, theirs)


@compare
@given(widths, bases, originals, fractions, yarns)
def test_yarn(width: int, base: float, original: int, fraction: float, shared: dict[str, Any]) -> None:
    """The ramp and the attention factor, with DeepSeek's ratio and gpt-oss's ramp without rounding."""
    theirs = shared | {"partial_rotary_factor": fraction}
    check("yarn", width, base, original, shared | {"fraction": fraction}, theirs)


@compare
@given(widths, bases, originals, factors, st.floats(0.5, 2), st.floats(2.5, 8))
def test_llama3(width: int, base: float, original: int, factor: float, low: float, high: float) -> None:
    """Slow pairs divided, fast ones kept."""
    theirs = {"factor": factor, "low_freq_factor": low, "high_freq_factor": high}
    check("llama3", width, base, original, {"factor": factor, "low": low, "high": high}, theirs)


@compare
@given(widths, bases, originals, factors, optional)
def test_longrope(width: int, base: float, original: int, factor: float, attention_factor: float | None) -> None:
    """One list of divisors up to the original length, another past it."""
    short, long = (1 + 50 * torch.rand(2, width // 2)).tolist()
    shared = {"factor": factor, "attention_factor": attention_factor}
    theirs = shared | {"short_factor": short, "long_factor": long}
    check("longrope", width, base, original, shared | {"short": short, "long": long}, theirs)


@compare
@given(widths, bases, originals, st.floats(1, 4), st.floats(0, 1))
def test_proportional(width: int, base: float, original: int, factor: float, fraction: float) -> None:
    """The fastest pairs turn, the rest stand still."""
    theirs = {"factor": factor, "partial_rotary_factor": fraction}
    check("proportional", width, base, original, {"factor": factor, "fraction": fraction}, theirs)


@compare
@given(widths, bases, factors)
def test_ntk(width: int, base: float, factor: float) -> None:
    """A larger base, once and for all; rotary-embedding-torch calls it theta_rescale_factor."""
    encoding = create("rope", dim=width, heads=1, length=64, base=base, scaling="ntk", factor=factor)
    want = RotaryEmbedding(dim=width, theta=base, theta_rescale_factor=factor).freqs
    assert_close(encoding.theta(Positions.range(1))[0], want, atol=0, rtol=1e-6)


@compare
@given(widths, bases, st.sampled_from(["linear", "ntk", "dynamic", "yarn", "llama3", "proportional"]))
def test_factor_one_is_plain_rope(width: int, base: float, scaling: str) -> None:
    """Nothing is stretched by a factor of one, up to the trained length."""
    plain, scaled = (create("rope", dim=width, heads=1, length=64, base=base, scaling=s) for s in ("none", scaling))
    theta, factor = scaled.theta(Positions.range(64))
    assert_close(theta.flatten(), plain.theta(Positions.range(64))[0], atol=0, rtol=1e-6)
    assert factor == 1.0


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (
            {"factor": 2},
            "factor=2.0, which scaling=none does not read: choose scaling=linear or ntk or dynamic or yarn",
        ),
        ({"scaling": "linear", "original": 8}, "choose scaling=dynamic or yarn or llama3 or longrope$"),
        (
            {"scaling": "llama3", "beta_fast": 8},
            "beta_fast=8.0, which scaling=llama3 does not read: choose scaling=yarn$",
        ),
        ({"scaling": "yarn", "mscale": 1}, "mscale and mscale_all_dim together"),
        ({"scaling": "llama3", "low": 4, "high": 2}, "needs low below high, got 4 and 2"),
        ({"scaling": "longrope", "short": [1], "long": [1]}, "short and long with 4 divisors each"),
    ],
)
def test_a_scaling_refuses_what_it_does_not_read_or_cannot_use(chosen: dict[str, Any], sentence: str) -> None:
    """Every parameter that would be idle, with the scalings that read it."""
    with pytest.raises(InputError, match=sentence):
        create("rope", dim=16, heads=2, length=64, **chosen)
