"""Networks of the position: closed forms in double precision, reductions, and gradients by finite differences."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.func import functional_call
from torch.testing import assert_close

from ordinate import InputError
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
widths, lengths = st.integers(2, 24), st.integers(1, 40)
PHI = {"gelu": torch.nn.functional.gelu, "relu": torch.relu, "tanh": torch.tanh}


def added(encoding: Encoding, positions: Tensor) -> Tensor:
    """What the encoding adds to embeddings of zeros at [n, axes]."""
    token_positions = Positions(positions[None])
    return encoding.embed(
        torch.zeros(1, token_positions.length, encoding.shape.dim, dtype=encoding.outer.dtype), token_positions
    )[0]


@compare
@given(widths, lengths, st.integers(1, 30), st.sampled_from(sorted(PHI)), st.sampled_from([None, 5.0]))
def test_continuous(dim: int, length: int, hidden: int, activation: str, normalizer: float | None) -> None:
    """W2 phi(W1 p/L + b1), at real positions on both sides of 0; with zeros for b1, W2 phi(W1 p/L)."""
    ours = create(
        "continuous", dim=dim, heads=1, length=length, hidden=hidden, activation=activation, normalizer=normalizer
    ).double()
    at = torch.randn(20, 1, dtype=torch.float64) * 3 * length
    share = at / (normalizer or length)
    assert_close(added(ours, at), PHI[activation](share @ ours.inner.T + ours.inner_bias) @ ours.outer.T)
    torch.nn.init.zeros_(ours.inner_bias)
    assert_close(added(ours, at), PHI[activation](share * ours.inner[:, 0]) @ ours.outer.T)


def test_continuous_is_as_wide_as_the_model_and_divides_by_the_trained_length() -> None:
    plain = create("continuous", dim=12, heads=1, length=30)
    stated = create("continuous", dim=12, heads=1, length=30, hidden=12, normalizer=30, activation="gelu")
    at = torch.arange(90).view(-1, 1)
    assert torch.equal(added(plain, at), added(stated, at))
    twice = create("continuous", dim=12, heads=1, length=30, normalizer=60)
    twice.load_state_dict(plain.state_dict())
    assert_close(added(twice, 2 * at), added(plain, at))


def test_continuous_with_relu_is_straight_between_its_corners() -> None:
    ours = create("continuous", dim=4, heads=1, length=10, hidden=3, activation="relu").double()
    corners = (-ours.inner_bias / ours.inner[:, 0] * 10).sort().values.tolist()
    for low, high in zip([-50.0, *corners], [*corners, 50.0], strict=True):
        ends = torch.tensor([[low], [(low + high) / 2], [high]], dtype=torch.float64)
        found = added(ours, ends)
        assert_close(found[1], (found[0] + found[2]) / 2)


@compare
@given(widths, st.integers(1, 12), st.integers(1, 20), st.integers(1, 3))
def test_fourier(dim: int, half: int, hidden: int, axes: int) -> None:
    """The formula with its sums written out, on a line, a grid and in space."""
    ours = create("fourier", dim=dim, heads=1, length=9, features=2 * half, hidden=hidden, axes=axes).double()
    at = torch.randn(15, axes, dtype=torch.float64) * 20
    angle = torch.einsum("na,wa->nw", at, ours.waves)
    waves = torch.cat((angle.cos(), angle.sin()), dim=-1) / (2 * half) ** 0.5
    assert_close(waves.square().sum(dim=-1), torch.full((15,), 0.5, dtype=torch.float64))  # each pair is 1/F
    inside = torch.nn.functional.gelu(waves @ ours.inner.T + ours.inner_bias)
    assert_close(added(ours, at), inside @ ours.outer.T + ours.outer_bias)


@pytest.mark.parametrize("gamma", [0.5, 10.0])
def test_fourier_frequencies_start_with_the_asked_spread(gamma: float) -> None:
    ours = create("fourier", dim=16, heads=1, length=9, features=4000, gamma=gamma)
    assert ours.waves.std().item() == pytest.approx(1 / gamma, rel=0.05)
    assert ours.waves.mean().abs() < 0.1 / gamma


def test_fourier_has_pairs() -> None:
    with pytest.raises(InputError, match="fourier has as many cosines as sines: features must be even, got 7"):
        create("fourier", dim=16, heads=1, length=9, features=7)
    assert create("fourier", dim=15, heads=1, length=9).waves.shape == (7, 1)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("continuous", dict(activation=phi)) for phi in ("gelu", "tanh")] + [("fourier", {}), ("fourier", dict(axes=2))],
)
def test_gradients_by_finite_differences(name: str, parameters: dict[str, Any]) -> None:
    ours = create(name, dim=4, heads=1, length=6, hidden=3, **parameters).double()
    positions = Positions(torch.randint(12, (1, 5, parameters.get("axes", 1))))
    names = [n for n, _ in ours.named_parameters()]

    def run(x: Tensor, *weights: Tensor) -> Tensor:
        return functional_call(ours, dict(zip(names, weights, strict=True)), (x, positions))

    ours.forward = ours.embed  # type: ignore[method-assign]
    x = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(run, (x, *ours.parameters()))
