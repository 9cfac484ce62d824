"""Patterns and names of heads that were built by hand, and the attention that a model really used."""

import math
import weakref

import pytest
import torch
from torch import Tensor

from ordinate import ModelConfig, Transformer, tasks
from ordinate.model import watch_attention
from ordinate.model.block import Attention
from ordinate.probes.attention_patterns import HeadPattern, Targets, attention_of, head_pattern, patterns
from ordinate.probes.head_names import Role, induction_scores, name_heads, repeated_tokens, role_of

N = 12


def looking_back(offset: int) -> Tensor:
    """All weight so many positions back; earlier queries look at themselves."""
    i, j = torch.arange(N)[:, None], torch.arange(N)
    return torch.where(i >= offset, i - j == offset, i == j).float()


def even(causal: bool = True) -> Tensor:
    seen = torch.ones(N, N).tril() if causal else torch.ones(N, N)
    return seen / seen.sum(dim=-1, keepdim=True)


def by_hand(*maps: Tensor, causal: bool = True) -> HeadPattern:
    return head_pattern(torch.stack(maps), 1, 1, causal=causal)


def test_uniform_attention_has_the_entropy_of_its_keys() -> None:
    assert by_hand(even(causal=False), causal=False).entropy == pytest.approx(math.log(N))
    mean = sum(math.log(keys) for keys in range(1, N + 1)) / N
    assert by_hand(even()).entropy == pytest.approx(mean, rel=1e-5)
    assert by_hand(even()).evenness == pytest.approx(1.0)
    assert by_hand(looking_back(1)).entropy == 0.0


def test_attention_by_distance_is_the_mean_of_diagonals() -> None:
    weights = torch.rand(N, N).tril().softmax(dim=-1).tril()
    found = by_hand(weights).by_distance
    assert found == pytest.approx([float(weights.diagonal(-distance).mean()) for distance in range(N)])
    both = by_hand(weights, causal=False)
    assert both.first_distance == 1 - N and both.at(-2) == pytest.approx(float(weights.diagonal(2).mean()))
    assert both.at(N) == 0.0


ROLES: dict[str, tuple[list[Tensor], tuple[Role, int | None]]] = {
    "previous token": ([looking_back(1)], ("offset", 1)),
    "itself": ([looking_back(0)], ("offset", 0)),
    "three back": ([0.8 * looking_back(3) + 0.2 * even()], ("offset", 3)),
    "first token": ([torch.eye(N)[:1].expand(N, N)], ("first", None)),
    "uniform": ([even()], ("uniform", None)),
    "content": ([torch.eye(N)[torch.arange(N) % at].tril() + 1e-3 for at in (2, 3, 5, 7, 11)], ("content", None)),
    "by distance": ([(looking_back(1) + looking_back(2) + looking_back(4)) / 3], ("by distance", None)),
}


@pytest.mark.parametrize("name", ROLES)
def test_heads_built_by_hand_are_recognized(name: str) -> None:
    maps, expected = ROLES[name]
    maps = [weights / weights.sum(dim=-1, keepdim=True) for weights in maps]
    assert role_of(by_hand(*maps), None) == expected


def test_looking_ahead_is_a_negative_offset() -> None:
    assert role_of(by_hand(looking_back(2).T, causal=False), None) == ("offset", -2)


def test_content_is_what_differs_between_sequences_at_the_same_positions() -> None:
    assert by_hand(even(), even()).content == 0.0
    one, other = torch.eye(N)[[0] * N], torch.eye(N)[[1] * N]
    assert by_hand(one, other).content == pytest.approx(0.5), "each lies half of its weight away from the mean"


def test_an_induction_head_is_found_at_both_periods_and_an_offset_head_is_not() -> None:
    tokens = repeated_tokens(vocabulary=20, length=N, rows=3)
    assert [period for period, _ in tokens] == [6, 4]
    for period, row in tokens:
        assert torch.equal(row[:, period:], row[:, : N - period]) and len(set(row[0, :period].tolist())) == period

    def attend(period: int, offset: int):  # type: ignore[no-untyped-def]
        return lambda receive: receive(0, torch.stack([looking_back(period - 1), looking_back(offset)])[None])

    assert induction_scores([(period, attend(period, 5)) for period, _ in tokens]) == [1.0, 0.0]
    assert repeated_tokens(vocabulary=3, length=N, rows=3) == []


def test_weights_at_every_length_belong_to_the_role_at_the_trained_one() -> None:
    def at(offset: int) -> HeadPattern:
        return by_hand(looking_back(offset))

    (head,) = name_heads({N: [at(3)], 2 * N: [at(5)]}, N, None)
    assert (head.role, head.offset, head.score) == ("offset", 3, {N: 1.0, 2 * N: 0.0})
    (inducing,) = name_heads({N: [by_hand(even())]}, N, [0.9])
    assert (inducing.role, inducing.score) == ("induction", {N: 0.9})


def test_targets_are_the_answers_positions() -> None:
    task = tasks.create("k_back", k=3)
    tokens = torch.randint(0, 16, (4, N))
    targets = Targets.of(task, tokens)
    assert targets.answered == 4 * (N - 3)
    assert targets.share(looking_back(3).expand(4, -1, -1)) == pytest.approx(1.0)
    assert targets.share(looking_back(2).expand(4, -1, -1)) == 0.0


ENCODINGS = ["rope", "alibi", "t5", "learned(rows=512)", "cope", "kerple", "rope+t5", "fox"]


@pytest.mark.parametrize("length", [12, 200], ids=["short", "long: other kernels"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_attention_of_probes_is_the_attention_used(encoding: str, length: int) -> None:
    """The output of every head is its weights times the values."""
    model = Transformer(ModelConfig(20, encoding, dim=16, heads=2, layers=2, length=16, dropout=0.0)).eval()
    tokens, weights, used = torch.randint(0, 20, (2, length)), [], []

    def keep(module: Attention, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        values = module.inputs(inputs[0]).view(2, length, -1, module.width).transpose(1, 2)[:, -module.kv_heads :]
        used.append((values, output.view(2, length, -1, module.width).transpose(1, 2)))

    hooks = [module.register_forward_hook(keep) for module in model.modules() if isinstance(module, Attention)]
    positions = torch.arange(length).view(1, -1, 1)
    attention_of(model, tokens, positions)(lambda layer, own: weights.append(own))
    for hook in hooks:
        hook.remove()
    assert len(weights) == len(used) == 2
    for own, (values, output) in zip(weights, used, strict=True):
        assert torch.allclose(own @ values, output, atol=1e-5)


def test_one_layer_of_weights_is_held_at_a_time() -> None:
    model = Transformer(ModelConfig(20, "rope", dim=16, heads=2, layers=3, length=16, dropout=0.0)).eval()
    alive: list[weakref.ref[Tensor]] = []

    def receive(layer: int, weights: Tensor, kernel: str) -> None:
        assert all(old() is None for old in alive), f"layer {layer} comes while an earlier one is held"
        alive.append(weakref.ref(weights))

    with torch.inference_mode(), watch_attention(model, receive):
        model(torch.zeros(1, 300, dtype=torch.long))
    assert len(alive) == 3
    found = patterns(attention_of(model, torch.zeros(2, 30, dtype=torch.long), torch.arange(30)), causal=True)
    assert [(head.layer, head.head) for head in found] == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]
