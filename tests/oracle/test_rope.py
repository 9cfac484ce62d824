"""Rotations against Llama and GPT-NeoX (halves), GPT-J and rotary-embedding-torch (interleaved)."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rotary_embedding_torch import RotaryEmbedding
from torch import Tensor
from torch.testing import assert_close
from transformers import GPTNeoXConfig, LlamaConfig
from transformers.models.gpt_neox import modeling_gpt_neox as neox
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama

from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
halves = st.integers(1, 40)
bases = st.sampled_from([500.0, 1e4, 5e5])
farthest = st.sampled_from([40, 4_000, 100_000])

# Equal frequencies and angles make equal sines; only the order of one product and one sum may differ.
rounding = {"atol": 1e-6, "rtol": 1e-6}


def rope(width: int, **parameters: object) -> Encoding:
    """An encoding for two heads of this width."""
    return create("rope", dim=2 * width, heads=2, length=32, **parameters)


def same(ours: Tensor, theirs: Tensor, x: Tensor) -> None:
    """Equal values, and equal gradients: ours are written by hand."""
    assert_close(ours, theirs, **rounding)
    upstream = torch.randn_like(ours)
    assert_close(*(torch.autograd.grad(out, x, upstream)[0] for out in (ours, theirs)), **rounding)


def turned(encoding: Encoding, x: Tensor, positions: Tensor) -> Tensor:
    """Queries under this encoding at [b, n] positions."""
    return encoding.rotate(x, encoding.prepare(Positions(positions.unsqueeze(-1))), "q")


@compare
@given(halves, bases, farthest)
def test_halves_against_llama(half: int, base: float, limit: int) -> None:
    """Positions of any size, another set for every sequence."""
    x, positions = torch.randn(3, 2, 9, 2 * half, requires_grad=True), torch.randint(limit, (3, 9))
    config = LlamaConfig(
        hidden_size=4 * half, num_attention_heads=2, rope_parameters={"rope_type": "default", "rope_theta": base}
    )
    theirs, _ = llama.apply_rotary_pos_emb(x, x, *llama.LlamaRotaryEmbedding(config)(x, positions))
    same(turned(rope(2 * half, base=base), x, positions), theirs, x)


@compare
@given(st.integers(2, 40), bases, farthest)
def test_interleaved_against_rotary_embedding_torch(half: int, base: float, start: int) -> None:
    """Float32 alone, and from width 4 on: that package divides by width - 2."""
    x, positions = torch.randn(3, 2, 9, 2 * half), torch.arange(start, start + 9).unsqueeze(0)
    theirs = RotaryEmbedding(dim=2 * half, theta=base).rotate_queries_or_keys(x, offset=start)
    assert_close(turned(rope(2 * half, base=base, pairs="interleaved"), x, positions), theirs, **rounding)


@compare
@given(halves, st.integers(0, 12), farthest)
def test_partial_interleaved_against_gptj(half: int, rest: int, limit: int) -> None:
    """The first channels turn, the rest pass; theirs is [b, n, h, e]."""
    width = 2 * half + rest
    x, positions = torch.randn(3, 2, 9, width, requires_grad=True), torch.randint(limit, (3, 9))
    sin, cos = gptj.create_sinusoidal_positions(limit, 2 * half)[positions].chunk(2, dim=-1)
    theirs = gptj.apply_rotary_pos_emb(x[..., : 2 * half].transpose(1, 2), sin, cos).transpose(1, 2)
    fraction = (2 * half + 0.5) / (width + 0.5)  # 2 * half / width can fall one short: channels are rounded down
    encoding = rope(width, fraction=fraction, pairs="interleaved")
    same(turned(encoding, x, positions), torch.cat((theirs, x[..., 2 * half :]), dim=-1), x)


@compare
@given(st.integers(1, 3), st.sampled_from([0.25, 0.4, 0.5, 1.0]), bases)
def test_partial_halves_against_neox(times: int, fraction: float, base: float) -> None:
    """A fraction of the head, with exponents over the turning channels alone."""
    width = 40 * times  # every fraction of it is even
    x, positions = torch.randn(3, 2, 9, width), torch.randint(4000, (3, 9))
    parameters = {"rope_type": "default", "rope_theta": base, "partial_rotary_factor": fraction}
    config = GPTNeoXConfig(hidden_size=2 * width, num_attention_heads=2, rope_parameters=parameters)
    theirs, _ = neox.apply_rotary_pos_emb(x, x, *neox.GPTNeoXRotaryEmbedding(config)(x, positions))
    assert_close(turned(rope(width, base=base, fraction=fraction), x, positions), theirs, **rounding)


@compare
@given(halves, farthest)
def test_conventions_are_permutations(half: int, limit: int) -> None:
    """Pairs (k, k + d/2) and pairs (2k, 2k + 1) turn alike."""
    order = torch.arange(2 * half).view(2, half).t().flatten()
    x, positions = torch.randn(3, 2, 9, 2 * half), torch.randint(limit, (3, 9))
    interleaved = turned(rope(2 * half, pairs="interleaved"), x[..., order], positions)
    assert torch.equal(interleaved, turned(rope(2 * half), x, positions)[..., order])


@compare
@given(halves, st.sampled_from(["halves", "interleaved"]), farthest)
def test_bfloat16_is_cast_last(half: int, pairs: str, limit: int) -> None:
    """A bfloat16 input gives the float32 result, rounded once, and spoils no later float32 call."""
    encoding = rope(2 * half, pairs=pairs)
    x, positions = torch.randn(3, 2, 9, 2 * half).bfloat16(), torch.randint(limit, (3, 9))
    before = turned(encoding, x.float(), positions)
    assert torch.equal(turned(encoding, x, positions), before.bfloat16())
    assert torch.equal(turned(encoding, x.float(), positions), before)


def test_bfloat16_positions_do_not_alias() -> None:
    """The fault of rotary-embedding-torch 0.9.1: past 256, neighboring bfloat16 positions are one."""
    x, positions = torch.randn(1, 2, 2048, 64), torch.arange(2048).unsqueeze(0)
    truth = RotaryEmbedding(dim=64).rotate_queries_or_keys(x)
    ours = turned(rope(64, pairs="interleaved"), x.bfloat16(), positions)
    theirs = RotaryEmbedding(dim=64).rotate_queries_or_keys(x.bfloat16())
    assert (ours - truth).abs().max() < 0.04
    assert (theirs - truth).abs().max() > 1.0
