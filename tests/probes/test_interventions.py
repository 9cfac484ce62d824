"""Interventions do what they say, and leave the model as it was."""

import pytest
import torch
from torch import Tensor

from ordinate import ModelConfig, Transformer
from ordinate.core.errors import InputError
from ordinate.model.block import Attention
from ordinate.probes.interventions import (
    frozen,
    ideal_pattern,
    patched_head,
    permuted,
    removed_heads,
    shifted,
    switched_off,
    wavelengths,
    without_band,
)

N = 24
TOKENS = torch.randint(0, 10, (3, N), generator=torch.Generator().manual_seed(0))
POSITIONS = torch.arange(N).view(1, N, 1)


def model(encoding: str, **settings: object) -> Transformer:
    config = dict(vocabulary=10, dim=32, heads=4, layers=2, length=32, dropout=0.0) | settings
    return Transformer(ModelConfig(encoding=encoding, **config)).eval()  # type: ignore[arg-type]


def logits(own: Transformer, positions: Tensor = POSITIONS) -> Tensor:
    with torch.inference_mode():
        return own(TOKENS, positions=positions)


@pytest.mark.parametrize(
    "encoding", ["rope", "sinusoidal", "learned", "alibi", "t5", "cope", "shaw", "fire", "pope", "rope+t5", "deberta"]
)
def test_an_encoding_that_is_switched_off_is_no_encoding(encoding: str) -> None:
    """Weights of equal name start equal under every encoding."""
    own, plain = model(encoding), model("none")
    before = logits(own)
    with switched_off(own):
        assert torch.allclose(logits(own), logits(plain), atol=1e-5)
    assert torch.equal(logits(own), before)


def test_switching_off_an_unused_encoding_changes_nothing() -> None:
    own = model("learned")
    with torch.no_grad():
        own.parts[0].table.zero_()
    before = logits(own)
    with switched_off(own):
        assert torch.equal(logits(own), before)


def test_positions_are_permuted_shifted_and_frozen() -> None:
    order = permuted(POSITIONS, 3)
    assert order.shape == (3, N, 1) and torch.equal(order.sort(dim=1).values, POSITIONS.expand(3, -1, -1))
    assert not torch.equal(order[0], order[1])
    assert torch.equal(shifted(POSITIONS, 5) - POSITIONS, torch.full_like(POSITIONS, 5))
    assert frozen(POSITIONS).unique().tolist() == [N // 2]
    own, plain = model("rope"), model("none")
    assert torch.allclose(logits(own), logits(own, shifted(POSITIONS, 50)), atol=1e-4)
    assert torch.allclose(logits(own, frozen(POSITIONS)), logits(plain), atol=1e-4)
    assert not torch.allclose(logits(own), logits(own, order), atol=1e-2)


def test_a_removed_head_is_one_whose_output_weights_are_zero() -> None:
    own, other = model("rope"), model("rope")
    attention = other.blocks[1].attention
    assert isinstance(attention, Attention)
    with torch.no_grad():
        attention.output.weight[:, 2 * attention.width : 3 * attention.width] = 0.0
    before = logits(own)
    with removed_heads(own, [(2, 3)]):
        assert torch.allclose(logits(own), logits(other), atol=1e-6)
    assert torch.equal(logits(own), before)


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_a_head_patched_by_its_own_pattern_is_the_same(kv_heads: int) -> None:
    """Queries and keys of zero attend evenly: the ideal pattern is the pattern that they have."""
    own = model("none", kv_heads=kv_heads)
    attention = own.blocks[0].attention
    assert isinstance(attention, Attention)
    with torch.no_grad():
        for row in own.parameters():
            row.add_(0.1 * torch.randn(row.shape))
        attention.inputs.weight[: (4 + kv_heads) * attention.width] = 0.0
        attention.inputs.bias[: (4 + kv_heads) * attention.width] = 0.0
    before = logits(own)
    for head in range(1, 5):
        with patched_head(own, 1, head, "uniform"):
            assert torch.allclose(logits(own), before, atol=1e-5)
    with patched_head(own, 1, 2, "first"):
        assert not torch.allclose(logits(own), before, atol=1e-3)


def test_ideal_patterns() -> None:
    three = ideal_pattern("offset", 6, 3, causal=True)
    assert three.sum(dim=1).tolist() == [0, 0, 0, 1, 1, 1] and three[5, 2] == 1
    assert ideal_pattern("first", 4, 0, causal=True)[:, 0].tolist() == [1] * 4
    assert ideal_pattern("uniform", 4, 0, causal=True)[2].tolist() == pytest.approx([1 / 3] * 3 + [0])
    assert ideal_pattern("uniform", 4, 0, causal=False)[2].tolist() == [0.25] * 4


@pytest.mark.parametrize("encoding", ["rope", "lrope", "sinusoidal", "xpos"])
def test_without_all_bands_there_is_no_position(encoding: str) -> None:
    own = model(encoding)
    before = logits(own)
    with switched_off(own):
        plain = logits(own)
    with without_band(own, 0.0, float("inf")):
        assert torch.allclose(logits(own), plain, atol=1e-5)
    with without_band(own, 0.0, 8.0):
        fast = logits(own)
    assert not torch.allclose(fast, plain, atol=1e-3) and not torch.allclose(fast, before, atol=1e-3)
    assert torch.equal(logits(own), before)


def test_wavelengths_are_those_of_the_formula() -> None:
    turned = wavelengths(model("rope").parts[0])
    assert turned is not None
    expected = 2 * torch.pi * 10_000.0 ** (torch.arange(0, 8, 2) / 8)
    assert torch.allclose(turned[0, :4].float(), expected, rtol=1e-3), "channel k turns with k + 4"
    added = wavelengths(model("sinusoidal").parts[0])
    assert added is not None and added[0, 0] == pytest.approx(2 * torch.pi, rel=0.2) and added[0, -1] >= 64
    assert wavelengths(model("learned").parts[0]) is None, "noise has no wavelength"
    assert wavelengths(model("t5").parts[0]) is None


def test_an_unknown_head_is_named() -> None:
    for layer, head in ((3, 1), (1, 5), (0, 1)):
        with (
            pytest.raises(InputError, match=rf"no head {layer}\.{head}: .* layers 1 to 2 with heads 1 to 4"),
            removed_heads(model("rope"), [(layer, head)]),
        ):
            pass
