"""Biases that read text and grids alike, on grids: every path against the reference, a cache, packed grids."""

import pytest
import torch
from tests.contract.reference import plain  # type: ignore[import-not-found]
from torch import Tensor
from torch.testing import assert_close

from ordinate import AttentionContext, BoundEncoding, ModelConfig, Positions, Transformer, attend
from ordinate.encodings import create
from ordinate.model import attention

NAMES = ["swin", "cpb", "lookhere"]
SIZES = dict(dim=32, heads=4, axes=2)


def grid(rows: int, columns: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(rows), torch.arange(columns))


def model(name: str, causal: bool) -> Transformer:
    config = ModelConfig(vocabulary=9, encoding=name, layers=2, length=30, dropout=0.0, causal=causal, **SIZES)
    made = Transformer(config).eval()
    with torch.no_grad():
        for weight in made.encodings.parameters():
            weight.add_(0.3 * torch.randn(weight.shape))
    return made


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("path", [None, "fused", "explicit", "blocks"])
@pytest.mark.parametrize("name", NAMES)
def test_every_path_is_the_reference(
    name: str, path: attention.Path | None, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "BLOCK", 7)
    encoding = create(name, **SIZES, length=30, causal=causal)
    context = AttentionContext.self_attention(Positions(grid(12, 7)[None]), causal=causal)
    q, k, v = (torch.randn(2, 4, 84, 8).requires_grad_() for _ in range(3))
    given = [q, k, v, *encoding.parameters()]
    weighting = torch.randn(2, 4, 84, 8)
    found, expected = attend(q, k, v, BoundEncoding(encoding, context), path), plain(encoding, q, k, v, context).float()
    assert_close(found, expected, atol=1e-5, rtol=1e-5)
    gradients = (torch.autograd.grad(out, given, weighting) for out in (found, expected))
    for a, b in zip(*gradients, strict=True):
        assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_cache_and_a_shift_change_nothing(name: str) -> None:
    made, places = model(name, causal=True), grid(5, 6)
    x = torch.randint(0, 9, (2, 30))
    whole = made(x, positions=places)
    cache = made.cache(2, 30)
    steps = [made(x[:, i : i + 6], positions=places[i : i + 6], cache=cache) for i in range(0, 30, 6)]
    assert_close(torch.cat(steps, dim=1), whole, atol=1e-5, rtol=1e-5)
    assert_close(made(x, positions=places + torch.tensor([40, 3])), whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_grids_in_one_row_are_what_they_are_apart(name: str) -> None:
    made = model(name, causal=False)
    a, b = torch.randint(0, 9, (1, 12)), torch.randint(0, 9, (1, 10))
    document_ids = torch.tensor([[0] * 12 + [1] * 10])
    packed = made(torch.cat((a, b), dim=1), document_ids=document_ids, positions=torch.cat((grid(3, 4), grid(5, 2))))
    assert_close(packed[:, :12], made(a, positions=grid(3, 4)), atol=1e-5, rtol=1e-5)
    assert_close(packed[:, 12:], made(b, positions=grid(5, 2)), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_rows_and_columns_are_told_apart(name: str) -> None:
    made, x = model(name, causal=False), torch.randint(0, 9, (1, 30))
    places = grid(5, 6)
    assert (made(x, positions=places) - made(x, positions=places.flip(-1))).abs().max() > 1e-3
