"""The paths of attention beyond short sequences: equal in values and in gradients, without tables of size n x n."""

import sys

import pytest
import torch
from torch.testing import assert_close

from ordinate import AttentionContext, BoundEncoding, InputError, Positions, attend, encodings
from ordinate.model import attention

LENGTH = 300


def run(
    name: str, path: str | None, *, queries: int = LENGTH, causal: bool = True, start: int = 5, **parameters: object
):
    """Output and all gradients of one attention layer; the queries are the last ones of the sequence."""
    encoding = encodings.create(name, dim=32, heads=4, length=LENGTH, causal=causal, **parameters)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in encoding.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.5)
    keys = Positions.range(LENGTH, start=start)
    first = LENGTH - queries
    context = AttentionContext(keys.slice(first, LENGTH), keys, causal=causal, start=first)
    q = torch.randn(2, 4, queries, 8, generator=generator).requires_grad_()
    k, v = (torch.randn(2, 4, LENGTH, 8, generator=generator).requires_grad_() for _ in range(2))
    bound = BoundEncoding(encoding, context)
    out = attend(q, k, v, bound, path)
    (out * torch.randn(out.shape, generator=generator)).sum().backward()
    chosen = path or attention.choose(q, k, bound)
    return chosen, [out, q.grad, k.grad, v.grad, *(p.grad for p in encoding.parameters())]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("queries", [LENGTH, 201])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("none", {}), ("alibi", {}), ("t5", {}), ("t5", {"farthest": 40, "buckets": 16}), ("t5", {"farthest": 1000})],
)
def test_the_gap_path_equals_the_explicit_one(name: str, parameters: dict, queries: int, causal: bool) -> None:
    chosen, found = run(name, None, queries=queries, causal=causal, **parameters)
    assert chosen == "toeplitz"
    _, expected = run(name, "explicit", queries=queries, causal=causal, **parameters)
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("name", ["alibi", "t5", "fire", "cope", "shaw", "rope", "none"])
def test_query_blocks_equal_the_whole_with_gradients(name: str) -> None:
    _, found = run(name, "blocks")
    _, expected = run(name, "explicit")
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("length", "path"), [(attention.SHORT, "explicit"), (attention.SHORT + 1, "fused")])
@pytest.mark.parametrize("name", ["none", "alibi", "t5", "fire", "rope"])
def test_short_sequences_train_by_plain_products(
    name: str, length: int, path: str, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers and gradients as those of the fused kernel, which longer ones take."""
    causal = causal or name == "fire"  # which is defined for nothing else
    monkeypatch.setattr(sys.modules[__name__], "LENGTH", length)
    chosen, found = run(name, None, queries=length, causal=causal)
    assert chosen == path
    _, expected = run(name, "fused", queries=length, causal=causal)
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, atol=2e-5, rtol=2e-5)


def test_long_sequences_take_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "DENSE_LIMIT", 1000)
    for name in ("fire", "cope", "shaw"):
        assert run(name, None)[0] == "blocks"


def test_the_gap_path_refuses_scattered_positions() -> None:
    encoding = encodings.create("alibi", dim=8, heads=2, length=8)
    bound = BoundEncoding(encoding, AttentionContext.self_attention(Positions(torch.tensor([0, 2, 5]).view(1, 3, 1))))
    q = torch.randn(1, 2, 3, 4)
    with pytest.raises(ValueError, match="needs consecutive positions"):
        attend(q, q, q, bound, "toeplitz")


@pytest.mark.parametrize(
    ("name", "heads", "causal", "queries", "words"),
    [
        ("alibi", 1, True, 6, "alibi was created for 1 heads, but the queries have 4"),
        ("t5", 4, False, 6, "t5 was created for bidirectional attention, but the context is causal"),
        ("rope", 4, True, 5, "5 queries and 5 keys do not fit a context of 6 and 6"),
    ],
)
def test_what_was_made_for_something_else_is_refused(
    name: str, heads: int, causal: bool, queries: int, words: str
) -> None:
    encoding = encodings.create(name, dim=32, heads=heads, length=8, causal=causal)
    q = torch.randn(1, 4, queries, 8)
    with pytest.raises(InputError, match=words):
        attend(q, q, q, BoundEncoding(encoding, AttentionContext.self_attention(Positions.range(6))))


def test_queries_of_a_pair_are_the_last_keys_unless_told_otherwise() -> None:
    encoding = encodings.create("alibi", dim=8, heads=2, length=8)
    last = AttentionContext(Positions.range(1, start=9), Positions.range(10))
    scattered = AttentionContext(Positions(torch.tensor([9]).view(1, 1, 1)), Positions(torch.arange(10).view(1, 10, 1)))
    assert last.consecutive and last.all_visible
    assert torch.equal(encoding.bias(last), encoding.bias(scattered))
    apart = AttentionContext(Positions.range(4, start=100), Positions.range(4), causal=False)
    assert not apart.consecutive
    assert apart.relative_positions()[0, 0].tolist() == [100, 99, 98, 97]
    with pytest.raises(InputError, match="4 queries do not fit into 3 keys"):
        AttentionContext(Positions.range(4), Positions.range(3))


def test_cope_counts_exactly_over_long_sequences() -> None:
    """Against double precision, where summing the other way round would cancel."""
    from ordinate.encodings.cope import _Count

    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(1, 1, 4, 4000, generator=generator, dtype=torch.double) - 4
    by_position = torch.randn(1, 1, 4, 64, generator=generator, dtype=torch.double)
    visible = torch.ones(1, 1, 4, 4000, dtype=torch.bool)
    exact = _Count.apply(scores, by_position, visible, 3996)
    assert (_Count.apply(scores.float(), by_position.float(), visible, 3996) - exact).abs().max() < 1e-3


def test_cope_gradients_are_those_of_autograd() -> None:
    """Its own backward against finite differences in double precision."""
    from ordinate.encodings.cope import _Count

    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(1, 2, 6, 6, generator=generator, dtype=torch.double).requires_grad_()
    by_position = torch.randn(1, 2, 6, 4, generator=generator, dtype=torch.double).requires_grad_()
    visible = torch.ones(1, 1, 6, 6, dtype=torch.bool).tril()
    assert torch.autograd.gradcheck(lambda s, p: _Count.apply(s, p, visible, 0), (scores, by_position))


@pytest.mark.parametrize("name", ["xpos", "learned"])
def test_positions_past_the_limit_are_refused_outside_a_model_too(name: str) -> None:
    encoding = encodings.create(name, dim=32, heads=4, length=8)
    far = Positions(torch.tensor([0, encoding.max_positions]).view(1, 2, 1))
    with pytest.raises(InputError, match="is out of range"):
        BoundEncoding(encoding, AttentionContext.self_attention(far))
    direct = encoding.prepare if name == "xpos" else lambda positions: encoding.embed(torch.zeros(1, 2, 32), positions)
    with pytest.raises(InputError, match="is out of range"):
        direct(far)


def test_a_fused_bias_is_not_rounded_to_bfloat16() -> None:
    """Among 4,096 distances, bfloat16 tells 129 apart."""
    encoding = encodings.create("alibi", dim=8, heads=1, length=4096)
    keys = Positions.range(4096)
    bound = BoundEncoding(encoding, AttentionContext(keys.slice(4095, 4096), keys))
    q, k = torch.zeros(1, 1, 1, 8), torch.zeros(1, 1, 4096, 8)
    v = torch.linspace(-1, 1, 4096).view(1, 1, 4096, 1).expand(1, 1, 4096, 8)
    exact = attend(q, k, v, bound, "explicit")
    low = attend(q.bfloat16(), k.bfloat16(), v.bfloat16(), bound, "fused")
    assert (low.float() - exact).abs().max() < 0.005


def test_features_that_are_missing_are_asked_for() -> None:
    encoding = encodings.create("fox", dim=32, heads=4, length=8)
    q = torch.zeros(1, 4, 6, 8)
    with pytest.raises(InputError, match="fox reads 4 features per token from the layer's input, got 0"):
        attend(q, q, q, BoundEncoding(encoding, AttentionContext.self_attention(Positions.range(6))))


def test_flex_on_a_cpu_says_that_it_has_no_gradients() -> None:
    bound = BoundEncoding(
        encodings.create("alibi", dim=32, heads=4, length=8), AttentionContext.self_attention(Positions.range(6))
    )
    q = torch.zeros(1, 4, 6, 8, requires_grad=True)
    with pytest.raises(InputError, match="the flex path has no gradients on a CPU"):
        attend(q, q, q, bound, "flex")
    attend(*[q.detach()] * 3, bound, "flex")
