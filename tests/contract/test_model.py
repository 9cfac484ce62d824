"""What every encoding owes inside a model."""

import copy
from itertools import pairwise

import pytest
import torch

from ordinate import InputError, Transformer, record

from .cases import EVERY, LENGTH, REGISTERED, Case, assert_close, first_of, tokens

every = pytest.mark.parametrize("name", EVERY)
registered = pytest.mark.parametrize("name", REGISTERED)  # where a parameter cannot make a difference


def longest(case: Case) -> int:
    """Four times the trained length, or as far as it goes."""
    return min(4 * LENGTH, *(part.max_positions for part in case.parts))


@every
@pytest.mark.parametrize("past", first_of(False, True))
def test_no_token_sees_a_later_one(name: str, past: bool) -> None:
    case = Case(name)
    if past and case.exempt("prefix_past"):
        pytest.xfail("declared exempt")
    length = longest(case) if past else LENGTH
    x = tokens(length=length)
    whole = case.run(x)
    cut = length - 5
    prefix = case.run(x[:, :cut])
    assert_close(whole[:, :cut], prefix)


@every
@pytest.mark.parametrize("past", first_of(False, True))
def test_decoding_with_a_cache_equals_the_full_pass(name: str, past: bool) -> None:
    case = Case(name)
    if past and case.exempt("cached_past"):
        pytest.xfail("declared exempt")
    length = longest(case) if past else LENGTH
    x = tokens(length=length)
    cache = case.model.cache(len(x), length)
    places = case.positions(length)
    found = []
    ends = [7, 8, 9, 10, 16, 17, LENGTH - 1, LENGTH, LENGTH + 1, LENGTH + 2, length // 2 + LENGTH, length - 1, length]
    ends = sorted({end for end in ends if end <= length})
    for start, stop in pairwise([0, *ends]):
        found.append(case.model(x[:, start:stop], cache=cache, **case.inputs(places[:stop], start)))
    assert_close(torch.cat(found, dim=1), case.run(x))


@every
def test_packed_documents_equal_separate_ones(name: str) -> None:
    case = Case(name)
    a, b = tokens(1, 9, seed=1), tokens(1, 11, seed=2)
    document_ids = torch.tensor([[0] * 9 + [1] * 11])
    more = case.inputs(torch.cat((case.positions(9), case.positions(11))))
    packed = case.model(torch.cat((a, b), dim=1), document_ids=document_ids, **more)
    assert_close(packed[:, :9], case.run(a))
    assert_close(packed[:, 9:], case.run(b))


@registered
def test_packed_documents_with_padding_equal_separate_ones(name: str) -> None:
    case = Case(name)
    a, b = tokens(1, 9, seed=1), tokens(1, 8, seed=2)
    real = torch.tensor([[0, 0] + [1] * 9 + [0] * 3 + [1] * 8])
    packed = torch.zeros_like(real)
    packed[real.bool()] = torch.cat((a, b), dim=1)[0]
    document_ids = torch.tensor([[0] * 11 + [1] * 11])
    places = torch.zeros(22, case.axes, dtype=torch.long)
    places[real[0].bool()] = torch.cat((case.positions(9), case.positions(8)))
    found = case.model(
        packed, document_ids=document_ids, padding_mask=real, **case.inputs(places)
    )  # 0 and 1, as others write it
    assert_close(found[:, 2:11], case.run(a))
    assert_close(found[:, 14:], case.run(b))


@every
def test_a_padded_prompt_in_chunks_equals_the_full_pass(name: str) -> None:
    case = Case(name)
    x, pad = tokens(2, 15), 5
    padding_mask = (torch.arange(15)[None] >= pad).expand(2, -1)
    places = torch.cat((torch.zeros(pad, case.axes, dtype=torch.long), case.positions(10)))
    cache, found = case.model.cache(2, 15), []
    for start, stop in ((0, 4), (4, 9), (9, 14), (14, 15)):  # the first holds nothing but padding
        part = slice(start, stop)
        found.append(
            case.model(x[:, part], padding_mask=padding_mask[:, part], cache=cache, **case.inputs(places[:stop], start))
        )
    assert_close(
        torch.cat(found, dim=1)[:, pad:], case.model(x, padding_mask=padding_mask, **case.inputs(places))[:, pad:]
    )


@every
@pytest.mark.parametrize("dtype", first_of(torch.bfloat16, torch.float64))
def test_the_whole_model_can_be_cast(name: str, dtype: torch.dtype) -> None:
    case = Case(name)
    expected = case.run(tokens())
    copied = copy.deepcopy(case.model)
    case.model = copied.to(dtype)
    found = case.run(tokens())
    assert found.dtype == dtype
    scale = expected.abs().max()
    assert (found.float() - expected).abs().max() < (0.2 if dtype == torch.bfloat16 else 1e-4) * scale


@every
@pytest.mark.parametrize("causal", first_of(True, False))
def test_padding_on_the_left_changes_nothing(name: str, causal: bool) -> None:
    case = Case.or_causal(name, causal)
    x, pad = tokens(2, 12), 5
    padded = torch.cat((torch.zeros(2, pad, dtype=torch.long), x), dim=1)
    padding_mask = torch.arange(12 + pad)[None].expand(2, -1) >= pad
    places = torch.cat((torch.zeros(pad, case.axes, dtype=torch.long), case.positions(12)))
    assert_close(case.model(padded, padding_mask=padding_mask, **case.inputs(places))[:, pad:], case.run(x))


@registered
def test_explicit_positions_equal_the_default_ones(name: str) -> None:
    case = Case(name)
    x = tokens()
    places = case.positions(LENGTH)
    expected = case.run(x)
    assert_close(case.run(x, positions=places), expected)
    assert_close(case.run(x, positions=places.expand(2, -1, -1).contiguous()), expected)


@every
@pytest.mark.parametrize("causal", first_of(True, False))
def test_shift_invariant_exactly_where_declared(name: str, causal: bool) -> None:
    case = Case.or_causal(name, causal)
    x = tokens(length=12)
    shift = 2 * LENGTH if longest(case) > 3 * LENGTH else 7
    there, here = (case.run(x, positions=case.positions(12, start=start)) for start in (shift, 0))
    change = (there - here).abs().max()
    assert (change < 1e-4) if all(whole.shift_invariant for whole in case.model.per_layer) else (change > 1e-3)


@every
def test_gradients_reach_every_parameter(name: str) -> None:
    case = Case(name)
    case.run(tokens()).square().mean().backward()
    largest = {n: 0.0 if p.grad is None else p.grad.abs().max().item() for n, p in case.model.named_parameters()}
    # a constant on all keys of a row, as the keys' bias is, cancels in the softmax
    idle = [n for n, size in largest.items() if size < 1e-6 * max(largest.values())]
    assert idle == []


@registered
def test_built_on_meta_then_materialized_equals_built_directly(name: str) -> None:
    config = Case(name).config()
    with torch.device("meta"):
        later = Transformer(config)
    assert all(p.is_meta for p in later.parameters())
    later.materialize("cpu", seed=3)
    direct = Transformer(config, seed=3)
    for (n, a), (_, b) in zip(later.state_dict().items(), direct.state_dict().items(), strict=True):
        assert torch.equal(a, b), n
    case = Case(name)
    outputs = []
    for case.model in (later.eval(), direct.eval()):  # not the weights alone: buffers must have come along
        outputs.append(case.run(tokens()))
    assert torch.equal(*outputs)


@registered
def test_state_dict_round_trip(name: str) -> None:
    case = Case(name)
    expected = case.run(tokens())
    state = copy.deepcopy(case.model.state_dict())
    case.model = Transformer(case.config(), seed=9).eval()
    case.model.load_state_dict(state)
    assert torch.equal(case.run(tokens()), expected)


@every
def test_past_the_trained_length_it_does_what_it_declares(name: str) -> None:
    case = Case(name)
    limit = min(part.max_positions for part in case.parts)
    x, places = tokens(length=4 * LENGTH), case.positions(4 * LENGTH)
    more = {} if case.axes == 1 else {"positions": places + 4 * LENGTH - 1 - places.max()}  # as far out on a grid
    if limit < 4 * LENGTH:
        with pytest.raises(InputError, match="out of range"):
            case.run(x, **more)
    else:
        assert case.run(x, **more).isfinite().all()
    declared = {part.extrapolation for part in case.parts}
    assert "refuses" not in declared or limit == LENGTH
    assert "untrained" not in declared or limit > LENGTH


@registered
def test_recording_attention_changes_nothing(name: str) -> None:
    case = Case(name)
    x = tokens()
    expected = case.run(x)
    with record(case.model) as seen:
        assert torch.equal(case.run(x), expected)
    assert len(seen.weights) == len(seen.kernels) == 3
    for weights in seen.weights:
        assert_close(weights.sum(dim=-1), torch.ones(2, 4, LENGTH))
        assert weights.triu(1).abs().max() == 0


@every
def test_another_default_dtype_changes_nothing(name: str) -> None:
    case, x = Case(name), tokens(length=LENGTH)
    long = min(300, *(part.max_positions for part in case.parts))
    expected, far = case.run(x), case.run(tokens(length=long))
    torch.set_default_dtype(torch.bfloat16)
    try:
        found, there, built = case.run(x), case.run(tokens(length=long)), Case(name).model
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(found, expected)
    assert torch.equal(there, far)
    assert {weight.dtype for weight in built.encodings.parameters()} <= {torch.bfloat16}  # as torch's own modules do


@every
def test_float64_stays_float64(name: str) -> None:
    """Close to twice the digits of float32, unless something on the way was rounded to it."""
    case = Case(name)
    case.model.double()
    nudged = copy.deepcopy(case.model)
    with torch.no_grad():  # a change that float32 cannot see must be seen
        for weight in nudged.encodings.parameters():
            weight.mul_(1 + 1e-12)
    before = case.run(tokens())
    case.model = nudged
    trained = any(True for _ in nudged.encodings.parameters())
    assert before.dtype == torch.float64
    assert not trained or not torch.equal(case.run(tokens()), before)


@every
def test_exemptions_are_still_needed(name: str) -> None:
    """An exemption that no test reads, or that the encoding has outgrown, is a claim that is no longer true."""
    case = Case(name)
    exempt = {test for part in case.parts for test in part.skip_contracts}
    assert exempt <= {"prefix_past", "cached_past", "packed_past"}
    assert all(reason for part in case.parts for reason in part.skip_contracts.values())
    if not exempt:
        return
    length = longest(case)
    x, cut = tokens(length=length), LENGTH  # within the trained length, where the whole goes past it
    whole = case.run(x)
    stale = set()
    if torch.allclose(whole[:, :cut], case.run(x[:, :cut]), atol=1e-4):
        stale |= {"prefix_past", "cached_past"}
    document_ids = torch.tensor([[0] * 9 + [1] * (length - 9)])
    places = torch.cat((case.positions(9), case.positions(length - 9)))
    packed = case.model(x, document_ids=document_ids, **case.inputs(places))
    if torch.allclose(packed[:, :9], case.run(x[:, :9]), atol=1e-4):
        stale.add("packed_past")
    assert not stale & exempt


@registered
def test_building_and_running_leave_the_global_generator_alone(name: str) -> None:
    Case(name)
    before = torch.get_rng_state()
    case = Case(name)
    case.run(tokens())
    assert torch.equal(before, torch.get_rng_state())
