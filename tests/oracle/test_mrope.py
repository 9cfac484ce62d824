"""Three coordinates against Qwen2-VL."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

from ordinate import InputError
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
parts = st.tuples(*[st.integers(0, 8)] * 3).filter(any)
bases = st.sampled_from([500.0, 1e4, 1e6])


def mrope(width: int, **parameters: object) -> Encoding:
    """An encoding for two heads of this width."""
    return create("mrope", dim=2 * width, heads=2, length=32, axes=3, **parameters)


def turned(encoding: Encoding, x: Tensor, positions: Tensor) -> Tensor:
    """Queries under this encoding at [b, n, 3] positions."""
    return encoding.rotate(x, encoding.prepare(Positions(positions)), "q")


@compare
@given(parts, bases, st.sampled_from([40, 10_000]))
def test_against_qwen2_vl(sections: tuple[int, int, int], base: float, limit: int) -> None:
    """Other coordinates for every sequence; sections of any size, empty ones among them."""
    width = 2 * sum(sections)
    rope = {"rope_type": "default", "rope_theta": base, "mrope_section": list(sections)}
    config = Qwen2VLTextConfig(hidden_size=2 * width, num_attention_heads=2, rope_parameters=rope)
    x, positions = torch.randn(3, 2, 9, width), torch.randint(limit, (3, 9, 3))
    cos, sin = qwen.Qwen2VLRotaryEmbedding(config)(x, positions.permute(2, 0, 1))
    want, _ = qwen.apply_rotary_pos_emb(x, x, cos, sin)
    assert_close(turned(mrope(width, sections=sections, base=base), x, positions), want, atol=1e-6, rtol=1e-6)


@compare
@given(st.integers(1, 40), bases, st.sampled_from(["halves", "interleaved"]))
def test_text_is_turned_as_by_rope(half: int, base: float, pairs: str) -> None:
    """The same number on all axes, fractions among them: bit for bit."""
    x, at = torch.randn(3, 2, 9, 2 * half), torch.randn(3, 9, 1) * 50
    rope = create("rope", dim=4 * half, heads=2, length=32, base=base, pairs=pairs)
    want = rope.rotate(x, rope.prepare(Positions(at)), "q")
    assert torch.equal(turned(mrope(2 * half, base=base, pairs=pairs), x, at.expand(3, 9, 3)), want)


def test_sections() -> None:
    """Those of Qwen2-VL at its own width; others must add up."""
    assert mrope(128).sections == (16, 24, 24)
    for pairs in range(1, 20):
        assert sum(mrope(2 * pairs).sections) == pairs
    for wrong in ((1, 2), (1, 2, 2), (1, 1, 1, 1)):
        with pytest.raises(InputError, match=r"three sections that add up to 4 pairs \(head width 8\)"):
            mrope(8, sections=wrong)
