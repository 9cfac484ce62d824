"""What reduces to what."""

import pytest
import torch

from ordinate import AttentionContext, Encoding, Positions, combine, encodings
from ordinate.encodings._shared.rotation import spread, turn

SHAPE = dict(dim=32, heads=4, length=64)
PLACE = Positions.range(200)


def rotated(**parameters: object) -> torch.Tensor:
    rope = encodings.create("rope", **SHAPE, **parameters)
    x = torch.randn(1, 4, 200, 8, generator=torch.Generator().manual_seed(0))
    return rope.rotate(x, rope.prepare(PLACE), "q")


@pytest.mark.parametrize("scaling", ["linear", "ntk", "yarn", "llama3"])
def test_scaling_by_one_is_rope(scaling: str) -> None:
    assert torch.allclose(rotated(scaling=scaling, factor=1.0), rotated(), atol=1e-6)


def test_dynamic_is_rope_up_to_the_original_length() -> None:
    assert torch.equal(rotated(scaling="dynamic", factor=4.0, original=200), rotated())
    assert not torch.allclose(rotated(scaling="dynamic", factor=4.0, original=199), rotated(), atol=1e-3)


def test_proportional_with_all_pairs_is_rope() -> None:
    assert torch.equal(rotated(scaling="proportional"), rotated())


def test_rope_of_no_channels_is_none() -> None:
    x = torch.randn(1, 4, 200, 8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(rotated(fraction=0.0), x)


def test_xpos_without_decay_is_rope() -> None:
    xpos = encodings.create("xpos", **SHAPE, scale_base=1e9)
    x = torch.randn(1, 4, 200, 8, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(xpos.rotate(x, xpos.prepare(PLACE), "q"), rotated(), atol=1e-4)


def test_asymmetric_alibi_with_ratio_one_is_symmetric() -> None:
    context = AttentionContext.self_attention(PLACE, causal=False)
    make = lambda **p: encodings.create("alibi", **SHAPE, causal=False, **p).bias(context)  # noqa: E731
    assert torch.equal(make(sides="asymmetric", ratio=1.0), make())


def test_turning_keeps_lengths_and_its_gradient_turns_back() -> None:
    for convention in ("halves", "interleaved"):
        state = spread(torch.randn(1, 1, 5, 4), convention)
        x = torch.randn(2, 3, 5, 8, requires_grad=True)
        y = turn(x, state, convention)
        assert torch.allclose(y.norm(dim=-1), x.norm(dim=-1), atol=1e-5)
        (back,) = torch.autograd.grad(y, x, y.detach())
        assert torch.allclose(back, x, atol=1e-5)


def test_sinusoids_shift_by_a_linear_map() -> None:
    """PE(p + r) is a fixed rotation of PE(p): similarity depends on the distance alone."""
    table = encodings.create("sinusoidal", **SHAPE).table(PLACE)[0]  # type: ignore[attr-defined]
    similarity = table @ table.T
    assert torch.allclose(similarity.diagonal(7), similarity[0, 7].expand(193), atol=1e-3)
    assert table.abs().max() <= 1
    assert torch.cdist(table, table).add(torch.eye(200)).min() > 0.1


def test_combine_chains_adds_and_flattens() -> None:
    def make(name: str) -> Encoding:
        return encodings.create(name, **SHAPE)

    alibi, t5 = make("alibi"), make("t5")
    both = combine(combine(alibi, t5), make("learned"))
    context = AttentionContext.self_attention(Positions.range(20))
    assert len(both.parts()) == 3
    assert torch.allclose(both.bias(context), alibi.bias(context) + t5.bias(context))  # type: ignore[operator]
    assert combine(alibi) is alibi
    assert both.extrapolation == "refuses" and both.max_positions == 64
