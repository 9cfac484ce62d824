"""Steps read from content: RoPE where every step is one, and the formula a token and a channel at a time."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate import InputError, ModelConfig, Transformer
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
parameters = st.fixed_dictionaries(
    {
        "rank": st.integers(1, 5),
        "window": st.integers(1, 6),
        "gate": st.booleans(),
        "bias": st.booleans(),
        "per_head": st.booleans(),
        "tau": st.sampled_from([0.5, 1.0, 3.0]),
        "pairs": st.sampled_from(["halves", "interleaved"]),
    }
)


def selective(half: int, heads: int, **more: Any) -> Encoding:
    """An encoding whose weights are all away from their start, in double precision."""
    encoding = create("selective_rope", dim=2 * half * heads, heads=heads, length=32, **more).double()
    for weight in encoding.parameters():
        torch.nn.init.normal_(weight)
    return encoding


def places(length: int) -> list[Positions]:
    """Plain, padded on the left and in the middle, packed, and both."""
    at = torch.arange(length).view(1, length, 1)
    padding_mask = torch.arange(length)[None] >= torch.tensor([[3], [0]])
    padding_mask[1, 5] = False
    document_ids = (torch.arange(length)[None] >= torch.tensor([[4], [7]])).long()
    return [
        Positions(at),
        Positions(at, padding_mask=padding_mask),
        Positions(at, document_ids=document_ids),
        Positions(at, document_ids=document_ids, padding_mask=padding_mask),
    ]


def steps(encoding: Encoding, x: Tensor, positions: Positions, row: int) -> list[list[float]]:
    """The step of every token of a row, for each of its channels, written out."""
    w = {name: weight.tolist() for name, weight in encoding.named_parameters()}
    heads, channels = encoding.heads, len(w["outer"])
    unit = [[value / math.sqrt(sum(v * v for v in token)) for value in token] for token in x[row].tolist()]

    def real(t: int) -> bool:
        return positions.padding_mask is None or bool(positions.padding_mask[row, t])

    def document(t: int) -> int:
        return 0 if positions.document_ids is None else int(positions.document_ids[row, t])

    found = []
    for t in range(x.shape[1]):
        step = [0.0] * channels
        for c in range(channels):
            for back in range(encoding.window):
                s = t - back
                if s < 0 or not real(s) or document(s) != document(t):
                    continue
                inner = [sum(a * b for a, b in zip(line, unit[s], strict=True)) for line in w["inner"]]
                step[c] += w["conv"][back][c] * sum(a * b for a, b in zip(w["outer"][c], inner, strict=True))
            if "step_log" in w:
                step[c] += math.exp(w["step_log"][c])
            if "gate" in w:
                head = c // (channels // heads)
                open_ = sum(a * b for a, b in zip(w["gate"][head], unit[t], strict=True)) + w["gate_bias"][head]
                step[c] /= 1 + math.exp(-open_)
        found.append(step if real(t) else [0.0] * channels)
    return found


@compare
@given(st.integers(1, 3), st.integers(1, 3), parameters)
def test_by_hand(half: int, heads: int, more: dict[str, Any]) -> None:
    """Steps that cross neither documents nor padding, added up, and queries turned by them."""
    ours, length = selective(half, heads, **more), 9
    x = torch.randn(2, length, 2 * half * heads, dtype=torch.float64)
    q = torch.randn(2, heads, length, 2 * half, dtype=torch.float64)
    for positions in places(length):
        read = ours.features(x, positions, None)
        found = ours.rotate(q, ours.prepare(positions), "q", read)
        for row in range(2):
            total = torch.tensor(steps(ours, x, positions, row), dtype=torch.float64).cumsum(dim=0)
            assert_close(read[row, :, ours.rank :], total)
            for h, k in torch.cartesian_prod(torch.arange(heads), torch.arange(half)).tolist():
                own = total[:, (h if more["per_head"] else 0) * half + k]
                angle = more["tau"] * 500_000 ** (-k / half) * own
                one, two = (k, k + half) if more["pairs"] == "halves" else (2 * k, 2 * k + 1)
                a, b = q[row, h, :, one], q[row, h, :, two]
                assert_close(found[row, h, :, one], a * angle.cos() - b * angle.sin(), atol=1e-5, rtol=1e-5)
                assert_close(found[row, h, :, two], b * angle.cos() + a * angle.sin(), atol=1e-5, rtol=1e-5)


@compare
@given(st.integers(1, 16), st.integers(1, 3), st.sampled_from([1e4, 5e5]), st.booleans())
def test_steps_of_one_are_rope(half: int, heads: int, base: float, per_head: bool) -> None:
    """With a bias and nothing read: RoPE with base 500,000, bit for bit, from position 1 on."""
    shape = dict(dim=2 * half * heads, heads=heads, length=32, base=base)
    ours, rope = create("selective_rope", **shape, bias=True, per_head=per_head), create("rope", **shape)
    torch.nn.init.zeros_(ours.outer)
    x, q = torch.randn(2, 20, 2 * half * heads), torch.randn(2, heads, 20, 2 * half)
    found = ours.rotate(q, None, "q", ours.features(x, Positions.range(20), None))
    assert torch.equal(found, rope.rotate(q, rope.prepare(Positions.range(20, start=1)), "q"))
    assert create("selective_rope", dim=8, heads=1, length=8).base == 5e5


@compare
@given(parameters, st.lists(st.integers(1, 4), min_size=2, max_size=5), st.booleans())
def test_in_pieces_as_in_one(more: dict[str, Any], sizes: list[int], padded: bool) -> None:
    """What a cache holds of earlier tokens is enough, padding or not; pieces shorter than the window among them."""
    ours, length = selective(2, 2, **more), sum(sizes)
    x = torch.randn(2, length, 8, dtype=torch.float64)
    padding_mask = torch.arange(length)[None] >= torch.tensor([[2], [0]]) if padded else None
    whole = ours.features(x, Positions(torch.arange(length).view(1, -1, 1), padding_mask=padding_mask), None)
    positions, before = Positions(torch.arange(length).view(1, -1, 1), padding_mask=padding_mask), None
    for stop in torch.tensor(sizes).cumsum(0).tolist():
        start = 0 if before is None else before.shape[1]
        new = ours.features(x[:, start:stop], positions.slice(start, stop), before)
        before = new if before is None else torch.cat((before, new), dim=1)
    assert_close(before, whole)


@pytest.mark.parametrize("more", [{}, {"gate": True, "bias": True}, {"per_head": False, "gate": True}])
def test_gradients(more: dict[str, Any]) -> None:
    """Of the layer's input, of queries and keys and of every weight, against finite differences."""
    ours, positions = selective(2, 2, rank=3, window=3, **more), places(6)[3]

    def scores(x: Tensor, q: Tensor, k: Tensor, *weights: Tensor) -> Tensor:
        read = ours.features(x, positions, None)  # the weights are ours, moved in place
        return ours.rotate(q, None, "q", read) @ ours.rotate(k, None, "k", read).mT

    shapes = ((2, 6, 8), (2, 2, 6, 4), (2, 2, 6, 4))
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(scores, (*inputs, *ours.parameters()), fast_mode=True)


def test_the_start() -> None:
    """Weights as torch starts linear layers and convolutions: small steps, so next to no positions."""
    ours = create("selective_rope", dim=256, heads=4, length=32, gate=True)
    for weight, inputs in ((ours.inner, 256), (ours.outer, 16), (ours.conv, 4), (ours.gate, 256)):
        assert weight.abs().max() <= inputs**-0.5
        assert abs(weight.std().item() * math.sqrt(3 * inputs) - 1) < 0.1
    assert not ours.gate_bias.any()


def test_grouped_keys_need_shared_steps() -> None:
    """Shared by heads they serve any keys; else one sentence says what to do."""
    config = dict(vocabulary=5, dim=16, heads=4, kv_heads=2, layers=1, length=8)
    tokens = torch.zeros(1, 4, dtype=torch.long)
    Transformer(ModelConfig(**config, encoding="selective_rope(per_head=false)"))(tokens)
    with pytest.raises(InputError, match="2 key heads serve 4: set kv_heads to heads, or set per_head=false"):
        Transformer(ModelConfig(**config, encoding="selective_rope"))
