"""The gate and its gradient."""

import pytest
import torch
from torch.nn import functional as F

from ordinate.model.swiglu import swiglu


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_values_and_gradients_are_those_of_plain_operations(kind: torch.dtype) -> None:
    x = torch.randn(3, 5, 14, dtype=kind, requires_grad=True)
    gate, value = x.chunk(2, dim=-1)
    plain, given = F.silu(gate) * value, torch.randn(3, 5, 7, dtype=kind)
    assert torch.equal(swiglu(x), plain)
    found, wanted = (torch.autograd.grad(y, x, given)[0] for y in (swiglu(x), plain))
    torch.testing.assert_close(found, wanted)


def test_its_gradient_is_that_of_finite_differences() -> None:
    torch.autograd.gradcheck(swiglu, torch.randn(2, 6, dtype=torch.float64, requires_grad=True))
