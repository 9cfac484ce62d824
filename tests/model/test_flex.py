"""FlexAttention over packed documents: its uncompiled reference against dense masks; what it may be chosen for."""

import pytest
import torch
from torch import Tensor

from ordinate import BoundEncoding, ModelConfig, Transformer, attend
from ordinate.lm.loss import Objective
from ordinate.model.attention import Path, unsupported
from ordinate.model.inputs import check_inputs

LENGTH = 40
DOCUMENTS = torch.tensor([[0] * 11 + [1] * 20 + [2] * 9, [0] * 3 + [1] * 37])
BIASES = ("alibi", "t5", "kerple", "sandwich", "fire", "alibi+rope")
OTHERS = ("none", "rope", "sinusoidal", "learned", "xpos")


def _bound(model: Transformer, positions: Tensor | None = None) -> BoundEncoding:
    tokens = torch.zeros(2, LENGTH, dtype=torch.long)
    placed = check_inputs(model.config, model.parts, tokens, positions, None, DOCUMENTS)
    return BoundEncoding(model.per_layer[0], model.context(placed))


def _model(encoding: str, restart: bool, *, causal: bool = True) -> Transformer:
    counting = "restart" if restart else "continue"
    config = dict(vocabulary=16, dim=32, heads=4, length=LENGTH, layers=1, document_positions=counting, causal=causal)
    return Transformer(ModelConfig(encoding=encoding, **config)).eval()  # type: ignore[arg-type]


@torch.no_grad()
def _heads(bound: BoundEncoding, path: Path) -> Tensor:
    q, k, v = torch.randn(3, 2, 4, LENGTH, 8, generator=torch.Generator().manual_seed(0))
    return attend(*bound.rotate(q, k), v, bound, path)


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("encoding", BIASES + OTHERS)
def test_documents_by_flex_are_those_of_a_dense_mask(encoding: str, restart: bool) -> None:
    bound = _bound(_model(encoding, restart))
    if encoding == "fire":  # normalizes by the query's position, so its bias is not of relative positions alone
        assert unsupported("flex", torch.zeros(1), torch.zeros(1), bound)
        return
    torch.testing.assert_close(_heads(bound, "flex"), _heads(bound, "explicit"), atol=1e-5, rtol=1e-4)


def test_documents_of_a_bidirectional_model() -> None:
    bound = _bound(_model("t5", True, causal=False))
    torch.testing.assert_close(_heads(bound, "flex"), _heads(bound, "explicit"), atol=1e-5, rtol=1e-4)


def test_a_bias_at_positions_that_were_given_is_refused() -> None:
    """They may skip: then a distance in tokens is not one in positions."""
    bound = _bound(_model("alibi", True), torch.arange(LENGTH) * 2)
    assert "consecutive" in unsupported("flex", torch.zeros(1), torch.zeros(1), bound)


@pytest.mark.parametrize("encoding", ["rope", "alibi", "learned", "fox", "t5"])
def test_training_reads_no_value_of_a_tensor(encoding: str) -> None:
    """On the meta device there is none to read: an accelerator would have to be waited for."""
    with torch.device("meta"):
        objective = Objective(_model(encoding, True)).train()
        tokens = torch.zeros(2, LENGTH, dtype=torch.long)
        objective(tokens, tokens, torch.zeros(2, LENGTH, dtype=torch.long)).backward()
    assert all(weight.grad is not None for weight in objective.model.parameters())
