"""What every encoding owes as an object, outside any model."""

from dataclasses import replace

import pytest
import torch

from ordinate import AttentionContext, BoundEncoding, Encoding, Positions, attend

from .cases import LENGTH, REGISTERED, Case, assert_close

pytestmark = pytest.mark.parametrize("name", REGISTERED)


def parts(name: str) -> list[tuple[Encoding, Positions]]:
    case = Case(name)
    return [(part, case.token_positions(LENGTH)) for part in case.parts]


def pair_of(part: Encoding, positions: Positions) -> AttentionContext:
    """A sequence against itself, with relations if the encoding reads them."""
    context = AttentionContext.self_attention(positions)
    return (
        replace(context, relation=context.relative_positions().abs() % 5 - 1)
        if "relation" in part.extra_inputs
        else context
    )


def outputs(part: Encoding, positions: Positions, dtype: torch.dtype) -> list[torch.Tensor]:
    """All hooks on the same random input, in a given precision."""
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(2, LENGTH, 32, generator=generator).bfloat16()
    q, k, v = torch.randn(3, 2, 4, LENGTH, 8, generator=generator).bfloat16()
    x, q, k, v = (t.to(dtype) for t in (x, q, k, v))
    own = positions.with_values(part.relabel(positions.values))
    state, context = part.prepare(own), pair_of(part, own)
    found = [part.embed(x, own), part.rotate(q, state, "q"), part.rotate(k, state, "k")]
    bias = part.bias(context)
    return found + ([] if bias is None else [bias])


def test_bfloat16_is_float32_computed_then_cast(name: str) -> None:
    for part, positions in parts(name):
        for low, full in zip(
            outputs(part, positions, torch.bfloat16), outputs(part, positions, torch.float32), strict=True
        ):
            if low.dtype == torch.float32:  # a bias stays in float32 until it meets the scores
                assert torch.equal(low, full)
            else:
                assert low.dtype == torch.bfloat16
                assert torch.equal(low, full.bfloat16())


def test_float32_is_unchanged_by_a_bfloat16_call(name: str) -> None:
    for part, positions in parts(name):
        before = outputs(part, positions, torch.float32)
        outputs(part, positions, torch.bfloat16)
        for a, b in zip(before, outputs(part, positions, torch.float32), strict=True):
            assert torch.equal(a, b)


def test_unsided_rotations_treat_queries_and_keys_alike(name: str) -> None:
    for part, positions in parts(name):
        state, x = part.prepare(positions), torch.randn(2, 4, LENGTH, 8)
        assert part.side_dependent or torch.equal(part.rotate(x, state, "q"), part.rotate(x, state, "k"))


def test_a_bias_by_gap_is_the_dense_bias(name: str) -> None:
    for part, positions in parts(name):
        context = pair_of(part, Positions(positions.values, positions.segments))
        whole = part.bias(pair_of(part, positions))
        if whole is None:
            assert part.bias(context) is None
        else:
            assert_close(whole.expand(1, 4, LENGTH, LENGTH), part.bias(context).expand(1, 4, LENGTH, LENGTH))


def test_content_is_read_in_float32_whatever_the_precision(name: str) -> None:
    generator = torch.Generator().manual_seed(2)
    for part, positions in parts(name):
        if part.needs_scores:
            q, k, v = torch.randn(3, 2, 4, LENGTH, 8, generator=generator).bfloat16()
            x = torch.randn(2, LENGTH, 32, generator=generator).bfloat16()
            bound = BoundEncoding(part, AttentionContext.self_attention(positions))
            low = attend(q, k, v, bound, features=bound.features(x))
            full = attend(q.float(), k.float(), v.float(), bound, features=bound.features(x.float()))
            assert torch.equal(low, full.bfloat16())


def test_what_clips_treats_far_and_farther_alike(name: str) -> None:
    for part, _ in parts(name):
        if part.extrapolation != "clips":
            continue
        found = []
        for far in (10_000, 20_000):
            keys = Positions(torch.tensor([0, far]).view(1, 2, 1).expand(1, 2, part.shape.axes))
            context = part.relabel_context(AttentionContext(keys.slice(1, 2), keys))
            x, q, k = torch.zeros(1, 2, 32), torch.ones(1, 4, 1, 8), torch.ones(1, 4, 2, 8)
            bias = part.bias(context)
            found.append(
                (part.embed(x, context.k), 0 if bias is None else bias, part.score_mod(q @ k.mT, q, k, context))
            )
        assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(*found, strict=True))


def test_it_explains_itself(name: str) -> None:
    for part, _ in parts(name):
        assert part.__doc__ and len(part.__doc__.split()) > 8
        assert part.formula
        assert part.family in ("none", "added", "rotation", "bias", "content")
        authors = () if part.paper is None else part.paper.authors
        assert all(len(author.split()) > 1 for author in authors)  # nobody is "others", or has a surname alone
