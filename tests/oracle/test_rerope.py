"""ReRoPE and Self-Extend: every query and key by themselves, and RoPE where their distances are RoPE's."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate import ModelConfig, Transformer
from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
halves, windows = st.integers(1, 8), st.integers(1, 12)
conventions = st.sampled_from(["halves", "interleaved"])


def scores(encoding: Encoding, q: Tensor, k: Tensor, context: AttentionContext) -> Tensor:
    """Scaled scores under an encoding."""
    bound = [
        encoding.rotate(x, encoding.prepare(positions), side)
        for x, positions, side in ((q, context.q, "q"), (k, context.k, "k"))
    ]
    return encoding.qk_scores(*bound, context)


def by_hand(q: Tensor, k: Tensor, context: AttentionContext, gap_of: object, pairs: str) -> Tensor:
    """RoPE's score for one query and one key at a time, at a distance of our own making."""
    b, h, queries, width = q.shape
    found = torch.zeros(b, h, queries, k.shape[2], dtype=torch.float64)
    half = width // 2
    for row, i, j in torch.cartesian_prod(*map(torch.arange, (b, queries, k.shape[2]))).tolist():
        gap = gap_of(context.q.values[row, i, 0].item(), context.k.values[row, j, 0].item())
        for c in range(half):
            one, two = (c, c + half) if pairs == "halves" else (2 * c, 2 * c + 1)
            cos, sin = math.cos(gap * 1e4 ** (-c / half)), math.sin(gap * 1e4 ** (-c / half))
            x, y, u, v = q[row, :, i, one], q[row, :, i, two], k[row, :, j, one], k[row, :, j, two]
            found[row, :, i, j] += cos * (x * u + y * v) + sin * (x * v - y * u)
    return found / math.sqrt(width)


def same_where_seen(encoding: Encoding, q: Tensor, k: Tensor, context: AttentionContext, expected: Tensor) -> None:
    """Equal scores, except for keys after the query in a causal model."""
    seen = (
        torch.ones_like(expected, dtype=torch.bool) if context.visible is None else context.visible.expand_as(expected)
    )
    assert_close(scores(encoding, q, k, context)[seen], expected[seen], atol=1e-4, rtol=1e-4)


@compare
@given(halves, windows, st.sampled_from([0.0, 0.25, 1.0]), conventions, st.booleans(), st.booleans())
def test_rerope_by_hand(half: int, window: int, leak: float, pairs: str, causal: bool, real: bool) -> None:
    """Distances past the window grow by the leak alone, on either side; positions with jumps."""
    ours = create(
        "rerope", dim=4 * half, heads=2, length=32, causal=causal, window=window, leak=leak, pairs=pairs
    )  # fmt: skip
    places = torch.randn(2, 9, 1, dtype=torch.float64) * 15 if real else torch.randint(40, (2, 9, 1))
    context = AttentionContext.self_attention(Positions(places), causal=causal)
    q, k = torch.randn(2, 2, 2, 9, 2 * half, dtype=torch.float64)

    def gap_of(i: float, j: float) -> float:
        far = max(abs(i - j) - window, 0) * leak + min(abs(i - j), window)
        return math.copysign(far, i - j)

    same_where_seen(ours, q, k, context, by_hand(q, k, context, gap_of, pairs))


@compare
@given(halves, windows, st.integers(1, 9), conventions, st.booleans())
def test_self_extend_by_hand(half: int, window: int, group: int, pairs: str, causal: bool) -> None:
    """Far tokens by the number of their group, moved so that groups go on where single tokens end."""
    ours = create(
        "self_extend", dim=4 * half, heads=2, length=32, causal=causal, window=window, group=group, pairs=pairs
    )  # fmt: skip
    context = AttentionContext.self_attention(Positions(torch.randint(60, (2, 9, 1))), causal=causal)
    q, k = torch.randn(2, 2, 2, 9, 2 * half, dtype=torch.float64)
    moved = window - window // group

    def gap_of(i: float, j: float) -> float:
        if abs(i - j) < window:
            return i - j
        return i // group - j // group + (moved if i > j else -moved)

    same_where_seen(ours, q, k, context, by_hand(q, k, context, gap_of, pairs))


@compare
@given(st.integers(1, 6), st.sampled_from(["rerope(window=20)", "rerope(window=3,leak=1)", "self_extend(window=20)",
                                           "self_extend(window=3,group=1)"]), st.booleans(), st.booleans())  # fmt: skip
def test_within_the_window_a_model_is_that_with_rope(half: int, text: str, causal: bool, grouped: bool) -> None:
    """Logits of a model with the same weights, with keys shared by heads too; and with a leak or groups of one."""
    shape = dict(vocabulary=7, dim=8 * half, heads=4, layers=2, length=20, causal=causal, kv_heads=2 if grouped else 4)
    tokens = torch.randint(7, (2, 20), generator=torch.Generator().manual_seed(half))
    ours, rope = (Transformer(ModelConfig(**shape, encoding=name), seed=3).eval()(tokens) for name in (text, "rope"))
    assert_close(ours, rope, atol=2e-5, rtol=2e-5)


@compare
@given(halves, st.integers(1, 9), st.integers(1, 9))
def test_groups_that_start_together_are_a_leak(half: int, group: int, count: int) -> None:
    """At multiples of the group, with a window that is one too, no rounding happens: a step counts 1/G."""
    shape = dict(dim=2 * half, heads=1, length=32)
    extended = create("self_extend", **shape, group=group, window=group * count)
    leaky = create("rerope", **shape, leak=1 / group, window=group * count)
    context = AttentionContext.self_attention(Positions(torch.arange(12).view(1, 12, 1) * group))
    q, k = torch.randn(2, 1, 1, 12, 2 * half)
    seen = context.visible
    found, want = (scores(encoding, q, k, context)[seen] for encoding in (extended, leaky))
    assert_close(found, want, atol=1e-4, rtol=1e-4)


def test_windows_by_default_and_how_far_they_reach() -> None:
    """Four times the trained length fits into groups: no distance is then larger than a trained one."""
    assert create("rerope", dim=8, heads=1, length=64).window == 32
    ours = create("self_extend", dim=8, heads=1, length=64)
    assert (ours.window, ours.group) == (16, 5)
    assert 255 // ours.group + ours.window - ours.window // ours.group <= 64
