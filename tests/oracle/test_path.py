"""Accumulated reflections against flash-linear-attention, and against the product written out factor by factor."""

from importlib.metadata import files
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create
from ordinate.encodings._shared import householder
from ordinate.encodings._shared.householder import through_factors

compare = settings(deadline=None, derandomize=True, max_examples=15)
sizes = st.integers(1, 4)


def theirs() -> ModuleType:
    """The plain version of a package whose other parts need a GPU."""
    path = next(file for file in files("fla-core") or () if file.match("path_attn/naive.py")).locate()
    spec = spec_from_file_location("naive_path_attention", str(path))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(batch: int, heads: int, queries: int, before: int, width: int, dtype: torch.dtype) -> list[Tensor]:
    """Queries, keys, unit vectors and strengths from 0 to 2."""
    keys = before + queries
    q, k, w = (torch.randn(batch, heads, n, width, dtype=dtype) for n in (queries, keys, keys))
    return [q, k, F.normalize(w, dim=-1), 2 * torch.rand(batch, heads, keys, dtype=dtype)]


@compare
@given(sizes, sizes, st.integers(1, 200), st.integers(1, 16), st.sampled_from([4, 16, 64]))
def test_against_flash_linear_attention(batch: int, heads: int, length: int, width: int, chunk: int) -> None:
    q, k, w, beta = draw(batch, heads, length, 0, width, torch.float32)
    v = torch.randn_like(k)
    scores = through_factors(q * width**-0.5, k, w, beta, 0)
    hidden = ~AttentionContext.self_attention(Positions.range(length)).visible
    found = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ v
    tokens_first = [x.transpose(1, 2) for x in (q, k, v, w, beta)]
    want = theirs().naive_path_attn(*tokens_first, torch.zeros(batch, length, heads), width**-0.5, chunk)
    assert_close(found, want.transpose(1, 2), atol=1e-5, rtol=1e-4)


def by_loops(q: Tensor, k: Tensor, w: Tensor, beta: Tensor, start: int) -> Tensor:
    """For one sequence and head: every query walks back through all factors, one at a time."""
    found = q.new_zeros(len(q), len(k))
    for i in range(len(q)):
        walker = q[i]
        for j in range(start + i, -1, -1):
            found[i, j] = walker @ k[j]
            walker = walker - beta[j] * (walker @ w[j]) * w[j]
    return found


@compare
@given(sizes, st.integers(1, 12), st.integers(0, 150), st.integers(1, 6), st.sampled_from([4, 64]))
def test_against_the_product(batch: int, queries: int, before: int, width: int, chunk: int) -> None:
    """Values and gradients, for the last queries of a longer sequence, in chunks of any size."""
    leaves = [x.requires_grad_() for x in draw(batch, 2, queries, before, width, torch.float64)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(householder, "CHUNK", chunk)
        seen = torch.arange(before + queries) <= before + torch.arange(queries)[:, None]
        found = through_factors(*leaves, before) * seen
    each = [[by_loops(*(x[b, h] for x in leaves), before) for h in range(2)] for b in range(batch)]
    want = torch.stack([torch.stack(row) for row in each])
    assert_close(found, want)
    upstream = torch.randn_like(want)
    gradients = (torch.autograd.grad(x, leaves, upstream, materialize_grads=True) for x in (found, want))
    for mine, plain in zip(*gradients, strict=True):
        assert_close(mine, plain)


def test_no_strength_is_no_position() -> None:
    q, k, w, beta = draw(2, 2, 70, 9, 4, torch.float64)
    seen = torch.arange(79) <= 9 + torch.arange(70)[:, None]
    assert_close(through_factors(q, k, w, 0 * beta, 9) * seen, (q @ k.mT) * seen)


def test_two_equal_reflections_are_none() -> None:
    """With beta = 2 a factor is a mirror: twice through it is the identity."""
    q, k, _, _ = draw(1, 1, 5, 0, 4, torch.float64)
    w = F.normalize(torch.ones(1, 1, 5, 4, dtype=torch.float64), dim=-1)
    found = through_factors(q, k, w, torch.full((1, 1, 5), 2.0, dtype=torch.float64), 0)
    assert_close(found[..., 4, 2], (q[..., 4, :] * k[..., 2, :]).sum(-1))


def directions(encoding: Encoding, x: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
    """w and beta by the words: a token at a time, its own and those before that are real and of its document."""
    w, beta = [], []
    for b, t in torch.cartesian_prod(*map(torch.arange, x.shape[:2])).tolist():
        total = torch.zeros_like(encoding.up[:, 0])
        for back in range(min(encoding.conv, t + 1)):
            real = positions.padding_mask is None or bool(positions.padding_mask[b, t - back])
            same = positions.document_ids is None or bool(
                positions.document_ids[b, t] == positions.document_ids[b, t - back]
            )
            if real and same:
                tap = 1.0 if encoding.taps is None else encoding.taps[back]
                total = total + tap * (encoding.up @ (encoding.down @ x[b, t - back]))
        total = total if encoding.taps is None else total * total.sigmoid()
        w.append(F.normalize(total.view(encoding.shape.heads, -1), dim=-1, eps=1e-6))
        real = positions.padding_mask is None or bool(positions.padding_mask[b, t])
        beta.append((encoding.strength @ x[b, t] + encoding.strength_bias).sigmoid() * 2 * real)
    return torch.stack(w).view(*x.shape[:2], -1), torch.stack(beta).view(*x.shape[:2], -1)


@compare
@given(sizes, st.integers(1, 5), st.integers(1, 4), st.integers(1, 10), st.booleans(), st.booleans())
def test_what_is_read_from_tokens(heads: int, rank: int, conv: int, length: int, padded: bool, packed: bool) -> None:
    encoding = create("path", dim=4 * heads, heads=heads, length=32, rank=rank, conv=conv).double()
    torch.nn.init.normal_(encoding.strength_bias)
    x = torch.randn(2, length, 4 * heads, dtype=torch.float64)
    padding_mask = torch.rand(2, length) > 0.3 if padded else None
    document_ids = torch.randint(2, (2, length)).cumsum(dim=1) if packed else None
    positions = Positions(Positions.range(length).values, padding_mask=padding_mask, document_ids=document_ids)
    _, w, beta = encoding.features(x, positions, None).split(encoding.sizes, dim=-1)
    want_w, want_beta = directions(encoding, x, positions)
    assert_close(w, want_w)
    assert_close(beta, want_beta)
    if not packed:  # as a cache gives it, a few tokens at a time
        parts, done = [], 0
        for stop in sorted({*torch.randint(1, length + 1, (3,)).tolist(), length}):
            before = torch.cat(parts, dim=1) if parts else None
            parts.append(encoding.features(x[:, done:stop], positions.slice(done, stop), before))
            done = stop
        assert_close(torch.cat(parts, dim=1), encoding.features(x, positions, None))


@pytest.mark.parametrize(("chunk", "conv"), [(2, 3), (64, 1)])
def test_gradients_by_finite_differences(chunk: int, conv: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(householder, "CHUNK", chunk)
    encoding = create("path", dim=4, heads=2, length=8, rank=2, conv=conv).double()
    x = torch.randn(1, 6, 4, dtype=torch.float64, requires_grad=True)
    q = torch.randn(1, 2, 5, 2, dtype=torch.float64, requires_grad=True)
    k = torch.randn(1, 2, 6, 2, dtype=torch.float64, requires_grad=True)
    positions = Positions.range(6)
    context = AttentionContext(positions.slice(1, 6), positions)

    def scores(x: Tensor, q: Tensor, k: Tensor, *weights: Tensor) -> Tensor:
        """The weights are the encoding's own, changed in place."""
        return encoding.qk_scores(q, k, context, encoding.features(x, positions, None)).masked_fill(~context.visible, 0)

    assert torch.autograd.gradcheck(scores, (x, q, k, *encoding.parameters()))
