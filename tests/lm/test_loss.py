"""The loss over parts of a vocabulary's logits is the loss."""

import pytest
import torch
from torch.nn import functional as F

from ordinate.lm import loss
from ordinate.lm.loss import token_losses, total_loss


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_loss_and_gradients_are_those_of_all_logits_at_once(
    monkeypatch: pytest.MonkeyPatch, tokens: int, kind: torch.dtype
) -> None:
    monkeypatch.setattr(loss, "MOST", 50 * 16)  # chunks of 16 tokens
    source = torch.Generator().manual_seed(0)
    states = torch.randn(tokens, 8, generator=source, dtype=kind, requires_grad=True)
    weight = torch.randn(50, 8, generator=source, dtype=kind, requires_grad=True)
    targets = torch.randint(50, (tokens,), generator=source)
    plain = F.cross_entropy(states @ weight.t(), targets, reduction="none")
    wanted = torch.autograd.grad((plain.sum() * 0.3), (states, weight))
    total = total_loss(states, weight, targets)
    found = torch.autograd.grad(total * 0.3, (states, weight))
    torch.testing.assert_close(total, plain.sum())
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(token_losses(states, weight, targets), plain.detach())


def test_a_tied_weight_gets_both_of_its_gradients() -> None:
    source = torch.Generator().manual_seed(0)
    weight = torch.randn(20, 8, generator=source, dtype=torch.float64, requires_grad=True)
    tokens, targets = torch.randint(20, (2, 30), generator=source)
    found = torch.autograd.grad(total_loss(F.embedding(tokens, weight).sin(), weight, targets), weight)
    plain = F.cross_entropy(F.embedding(tokens, weight).sin() @ weight.t(), targets, reduction="sum")
    torch.testing.assert_close(found, torch.autograd.grad(plain, weight))


def test_large_logits_do_not_overflow() -> None:
    weight = torch.eye(4) * 1e4
    assert torch.isfinite(total_loss(torch.eye(4), weight, torch.tensor([1, 2, 3, 0])))


def test_no_more_than_a_chunk_of_logits_exists_at_once() -> None:
    """Counted and not sampled: the largest tensor that is made."""
    largest = 0

    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            made = func(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor):
                largest = max(largest, made.numel())
            return made

    states, weight = torch.randn(2048, 4, requires_grad=True), torch.randn(65_536, 4, requires_grad=True)
    with Largest():
        total_loss(states, weight, torch.zeros(2048, dtype=torch.long)).backward()
    assert largest <= loss.MOST
