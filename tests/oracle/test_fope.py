"""Sums of frequencies: RoPE where there is one in each pair, and the formula pair by pair."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ordinate import InputError, ModelConfig, Transformer
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
conventions = st.sampled_from(["halves", "interleaved"])
bases = st.sampled_from([500.0, 1e4])


def turned(encoding: Encoding, x: Tensor, positions: Tensor) -> Tensor:
    """Queries under this encoding at [b, n] positions."""
    return encoding.rotate(x, encoding.prepare(Positions(positions.unsqueeze(-1))), "q")


@compare
@given(st.integers(1, 20), conventions, st.booleans(), st.booleans(), bases)
def test_one_frequency_per_pair_is_rope(half: int, pairs: str, trained: bool, per_head: bool, base: float) -> None:
    """Without others and without clipping."""
    shape = dict(dim=4 * half, heads=2, length=7, base=base, pairs=pairs)
    ours = create("fope", **shape, sigma=0.0, clip=False, trained=trained, per_head=per_head)
    x, positions = torch.randn(3, 2, 9, 2 * half), torch.randint(4000, (3, 9))
    assert torch.equal(turned(ours, x, positions), turned(create("rope", **shape), x, positions))


@compare
@given(st.integers(2, 16), st.sampled_from([7, 64, 1000]), conventions, bases)
def test_clipping_alone_is_rope_with_the_slow_pairs_at_rest(half: int, length: int, pairs: str, base: float) -> None:
    """As p-RoPE, with the share of pairs that complete a turn."""
    shape = dict(dim=2 * half, heads=1, length=length, base=base, pairs=pairs)
    kept = sum(2 * math.pi * base ** (k / half) <= length for k in range(half))
    rope = create("rope", **shape, scaling="proportional", fraction=(kept + 0.5) / (half + 0.5))
    x, positions = torch.randn(3, 1, 9, 2 * half), torch.randint(4000, (3, 9))
    assert torch.equal(turned(create("fope", **shape, sigma=0.0), x, positions), turned(rope, x, positions))


@compare
@given(st.integers(1, 8), st.integers(1, 3), st.booleans(), st.booleans(), bases)
def test_the_sums(half: int, heads: int, trained: bool, per_head: bool, base: float) -> None:
    """The formula, head by head and pair by pair, in double precision."""
    ours = create(
        "fope", dim=2 * half * heads, heads=heads, length=40, sigma=0.5, base=base, trained=trained, per_head=per_head
    )
    x, at = torch.randn(1, heads, 6, 2 * half, dtype=torch.float64), torch.randn(6) * 50
    found = turned(ours, x, at.unsqueeze(0))
    speeds = [base ** (-k / half) for k in range(half)]
    kept = [speed for speed in speeds if 2 * math.pi / speed <= 40]
    assert ours.sums.shape == (2, heads if per_head else 1, len(kept), len(kept))
    for h in range(heads):
        own = ours.sums[:, h if per_head else 0].tolist()
        for n, k in torch.cartesian_prod(torch.arange(6), torch.arange(half)).tolist():
            p = at[n].item()
            cos = sum(own[0][m][k] * math.cos(p * w) for m, w in enumerate(kept)) if k < len(kept) else 1.0
            sin = sum(own[1][m][k] * math.sin(p * w) for m, w in enumerate(kept)) if k < len(kept) else 0.0
            a, b = x[0, h, n, k].item(), x[0, h, n, k + half].item()
            assert abs(found[0, h, n, k].item() - (a * cos - b * sin)) < 1e-4
            assert abs(found[0, h, n, k + half].item() - (b * cos + a * sin)) < 1e-4


def test_the_start() -> None:
    """The identity and a spread that all other frequencies of a pair share; fixed sums are saved, but not trained."""
    ours = create("fope", dim=1024, heads=4, length=10**6, sigma=0.4, clip=False)
    noise = ours.sums - torch.eye(128)
    assert abs(noise.std().item() * math.sqrt(128) - 0.4) < 0.01
    assert "sums" in ours.state_dict() and not list(ours.parameters())
    assert list(dict(create("fope", dim=32, heads=4, length=24, trained=True).named_parameters())) == ["sums"]
    assert not torch.equal(noise, create("fope", dim=1024, heads=4, length=9, clip=False, seed=1).sums)


def test_what_cannot_be() -> None:
    """Too short a length leaves nothing, and grouped keys need sums for all heads."""
    with pytest.raises(InputError, match="a length of at least 7"):
        create("fope", dim=32, heads=4, length=6)
    config = dict(vocabulary=5, dim=16, heads=4, kv_heads=2, layers=1, length=8)
    tokens = torch.zeros(1, 4, dtype=torch.long)
    Transformer(ModelConfig(**config, encoding="fope(per_head=false)"))(tokens)
    with pytest.raises(InputError, match="2 key heads serve 4: set kv_heads to heads, or set per_head=false"):
        Transformer(ModelConfig(**config, encoding="fope"))


def printed(sigma: float, heads: int, width: int, length: int, base: float) -> tuple[Tensor, Tensor]:
    """Sums as the paper's code draws them, [heads, kept, sums] for cosines and sines."""
    kept = sum(base ** (-2 * k / width) >= 2 * math.pi / length for k in range(width // 2))
    made = min(kept, width // 4)
    drawn = [torch.nn.init.xavier_normal_(torch.empty(heads, kept, made), gain=sigma) for _ in range(2)]
    step = math.ceil(kept / made)
    own = torch.zeros(kept, made)
    for k in range(made):
        if k * step < kept:
            own[k * step, k] = 1.0
    return drawn[0] + own, drawn[1] + own


def as_printed(x: Tensor, at: Tensor, cosines: Tensor, sines: Tensor, base: float, divided: bool) -> Tensor:
    """Queries as the paper's code turns them; what has no sum has 1 for both."""
    width, (kept, made) = x.shape[-1], cosines.shape[1:]
    angle = at[:, None] * base ** (-torch.arange(0, 2 * kept, 2) / width)
    parts = []
    for waves, sums in ((angle.cos(), cosines), (angle.sin(), sines)):
        sums = sums / sums.sum(dim=-2, keepdim=True) if divided else sums
        wave = torch.nn.functional.pad(waves @ sums, (0, width // 2 - made), value=1.0)
        parts.append(torch.cat((wave, wave), dim=-1))
    left, right = x.chunk(2, dim=-1)
    return x * parts[0] + torch.cat((-right, left), dim=-1) * parts[1]


@pytest.mark.parametrize("divided", [False, True])
def test_what_the_papers_code_does_otherwise(divided: bool) -> None:
    """With its sums (divided, as printed), channels that turn are those of ours, and a resting pair counts twice."""
    heads, width, length, base = 3, 32, 40, 1e4
    ours = create("fope", dim=heads * width, heads=heads, length=length, base=base)
    cosines, sines = printed(0.3, heads, width, length, base)
    kept = cosines.shape[1]
    assert kept == cosines.shape[2] == ours.kept <= width // 4
    both = torch.stack((cosines, sines))
    ours.sums.copy_(both / both.sum(dim=-2, keepdim=True) if divided else both)
    q, k, at = torch.randn(1, heads, 6, width), torch.randn(1, heads, 6, width), torch.arange(6) + 3
    theirs = [as_printed(x, at, cosines, sines, base, divided) for x in (q, k)]
    mine = [turned(ours, x, at[None]) for x in (q, k)]
    turning = [n for n in range(width) if n % (width // 2) < kept]
    resting = [n for n in range(width) if n % (width // 2) >= kept]
    for a, b in zip(theirs, mine, strict=True):
        torch.testing.assert_close(a[..., turning], b[..., turning], atol=1e-5, rtol=1e-5)
    counted, once = ((a[..., resting] @ b[..., resting].mT) for a, b in (theirs, mine))
    torch.testing.assert_close(counted, 2 * once, atol=1e-4, rtol=1e-4)


def test_the_papers_sigma_is_a_smaller_one_here() -> None:
    heads, kept, sigma = 8, 64, 0.3
    theirs = torch.nn.init.xavier_normal_(torch.empty(heads, kept, kept), gain=sigma)
    ours = create(
        "fope", dim=heads * 2 * kept, heads=heads, length=32, clip=False, sigma=sigma * math.sqrt(2 / (kept + heads))
    )
    assert (ours.sums - torch.eye(kept)).std().item() == pytest.approx(theirs.std().item(), rel=0.02)
