"""Readers find position where it was planted, and rank and similarity have their closed forms."""

import math

import pytest
import torch
from torch import Tensor, nn

from ordinate import ModelConfig, Transformer
from ordinate.core.task import Batch
from ordinate.probes.gradient_norms import gradient_norms
from ordinate.probes.hidden_states import effective_rank, probe_state, similarity, states_of
from ordinate.probes.learned_parameters import encoding_parameters, learned_effects, learned_parameters

B, N = 32, 16


def model(encoding: str, **settings: object) -> Transformer:
    config = dict(vocabulary=10, dim=16, heads=2, layers=3, length=N, dropout=0.0) | settings
    return Transformer(ModelConfig(encoding=encoding, **config)).eval()  # type: ignore[arg-type]


def test_positions_planted_at_a_layer_are_read_there_and_not_before() -> None:
    """Without an encoding and without a causal mask, nothing in the model knows where a token stands."""
    blind = model("none", causal=False, dim=64)
    tokens = torch.randint(0, 10, (B, N))
    planted = 3 * torch.randn(N, 64)

    def plant(block: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return output + planted

    assert all(probe_state(states).position < 0.05 for states in states_of(blind, tokens, None))
    hook = blind.blocks[1].register_forward_hook(plant)
    found = [probe_state(states) for states in states_of(blind, tokens, None)]
    hook.remove()
    assert [probe.position > 0.95 for probe in found] == [False, False, True, True]
    assert [probe.distance > 0.9 for probe in found] == [False, False, True, True]
    assert all(probe.position_exact < 0.25 for probe in found[:2]) and found[2].position_exact > 0.8


def test_states_are_those_between_the_blocks() -> None:
    own, tokens = model("rope"), torch.randint(0, 10, (2, N))
    states = states_of(own, tokens, None)
    assert len(states) == 4
    assert torch.equal(states[0], own.embedding(tokens))
    with torch.inference_mode():
        assert own.norm is not None and own.head is not None
        assert torch.allclose(own.head(own.norm(states[-1])), own(tokens), atol=1e-6)
    assert not any(block._forward_hooks or block._forward_pre_hooks for block in own.blocks)


def test_rank_and_similarity_of_known_states() -> None:
    collapsed = torch.ones(N, 1) @ torch.randn(1, 16)
    assert effective_rank(collapsed) == pytest.approx(1.0, abs=1e-4)
    assert similarity(collapsed) == pytest.approx(1.0)
    assert effective_rank(torch.eye(N)) == pytest.approx(N)
    assert similarity(torch.eye(N)) == pytest.approx(0.0)
    two = torch.cat((torch.eye(2), -torch.eye(2)))
    assert effective_rank(two) == pytest.approx(2.0) and similarity(two) == pytest.approx(-1 / 3)


def test_gradient_norms_are_those_of_a_backward_pass() -> None:
    own = model("t5(buckets=4)")
    tokens = torch.randint(0, 10, (4, N))
    found = gradient_norms(own, Batch(tokens, tokens.roll(1, dims=1)))
    assert all(weight.grad is None for weight in own.parameters())
    nn.functional.cross_entropy(own(tokens).flatten(0, 1), tokens.roll(1, dims=1).flatten()).backward()

    def norm(module: nn.Module) -> float:
        return math.sqrt(sum(float(w.grad.square().sum()) for w in module.parameters() if w.grad is not None))

    assert found.layers == pytest.approx([norm(block) for block in own.blocks], rel=1e-4)
    assert found.embedding == pytest.approx(norm(own.embedding), rel=1e-4)
    assert found.encoding.keys() == encoding_parameters(own).keys() == {"t5.table"}
    assert math.hypot(*found.encoding.values()) == pytest.approx(norm(own.encodings), rel=1e-4)


def test_learned_parameters_are_told_from_initial_ones() -> None:
    before, after = model("learned_alibi"), model("learned_alibi")
    assert all(each.change == 0.0 for each in learned_parameters(before, after))
    with torch.no_grad():
        for weight in after.encodings.parameters():
            weight.add_(0.5)
    changed = learned_parameters(before, after)
    assert changed and all(each.change == pytest.approx(0.5) for each in changed)
    assert all(len(each.trained) == math.prod(each.shape) for each in changed)
    effects = learned_effects(before, after, 2 * N)
    assert {effect.effect for effect in effects} == {"bias"} and all(e.before != e.after for e in effects)
    assert learned_effects(model("rope"), model("rope"), N) == [], "nothing is trained"
    (norms,) = learned_effects(model("learned"), model("learned"), 2 * N)
    assert norms.effect == "norm" and len(norms.after) == N and norms.before == norms.after
    waves = learned_effects(model("lrope"), model("lrope"), N)
    assert {effect.effect for effect in waves} == {"wavelength"}
