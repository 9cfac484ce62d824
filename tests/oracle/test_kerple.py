"""KERPLE against its formulas in plain Python, and against ALiBi, which it contains."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from x_transformers.x_transformers import AlibiPositionalBias

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
kinds = st.sampled_from(["log", "power"])


def set_numbers(encoding: Encoding, a: torch.Tensor, p: torch.Tensor) -> None:
    """Put a and p where the encoding keeps them, by the inverses of softplus and of 2 sigmoid."""
    encoding.raw_a.data = a.expm1().log()
    encoding.raw_p.data = p.expm1().log() if encoding.kind == "log" else (p / (2 - p)).log()


@compare
@given(st.integers(1, 6), kinds, st.booleans(), st.booleans())
def test_formula(heads: int, kind: str, causal: bool, whole: bool) -> None:
    ours = create("kerple", dim=4 * heads, heads=heads, length=32, causal=causal, kind=kind)
    a, p = 0.01 + torch.rand(heads), 0.01 + 1.9 * torch.rand(heads)
    set_numbers(ours, a, p)
    positions = torch.randint(0, 500, (7,)) if whole else 50 * torch.randn(7)
    bias = ours.bias(AttentionContext.self_attention(Positions(positions.view(1, -1, 1)), causal=causal))
    for head in range(heads):
        for query, i in enumerate(positions.tolist()):
            for key, j in enumerate(positions.tolist()):
                r, s, t = abs(i - j), a[head].item(), p[head].item()
                want = -t * math.log(1 + s * r) if kind == "log" else -s * r**t
                assert bias[0, head, query, key].item() == pytest.approx(want, rel=1e-4, abs=1e-4)


@compare
@given(st.sampled_from([1, 2, 4, 6, 8, 12]), st.booleans(), st.integers(2, 60))
def test_the_power_one_with_alibis_slopes_is_alibi(heads: int, causal: bool, length: int) -> None:
    """Ours, and that of x-transformers."""
    sizes = dict(dim=4 * heads, heads=heads, length=32, causal=causal)
    ours, alibi = create("kerple", **sizes, kind="power"), create("alibi", **sizes)
    slopes = -alibi.relative_bias(torch.tensor([1]))[:, 0]
    set_numbers(ours, slopes, torch.ones(heads))
    context = AttentionContext.self_attention(Positions.range(length), causal=causal)
    assert_close(ours.bias(context), alibi.bias(context), rtol=1e-5, atol=1e-6)
    assert_close(ours.bias(context)[0], AlibiPositionalBias(heads)(length, length), rtol=1e-5, atol=1e-6)


@compare
@given(kinds)
def test_starts_as_the_papers_code(kind: str) -> None:
    ours = create("kerple", dim=4000, heads=1000, length=8, kind=kind)
    a, p = ours.a().detach(), ours.p().detach()
    assert 0.009 < a.min() < 0.05 and 0.95 < a.max() < 1
    assert 0.01 < p.min() < 0.1 and 1.9 < p.max() < 2


@pytest.mark.parametrize("kind", ["log", "power"])
def test_gradients(kind: str) -> None:
    """At distance 0 too, where a power of it has no derivative of its own."""
    ours = create("kerple", dim=8, heads=2, length=8, kind=kind).double()

    def bias(a: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(ours, {"raw_a": a, "raw_p": p}, (torch.arange(6),))

    ours.forward = ours.relative_bias  # type: ignore[method-assign]
    assert torch.autograd.gradcheck(bias, (ours.raw_a.detach().requires_grad_(), ours.raw_p.detach().requires_grad_()))
