"""The convolution over embeddings against torch's own, against loops over tokens, and in models on grids."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import conv1d, conv2d, pad
from torch.testing import assert_close

from ordinate import Encoding, InputError, ModelConfig, Positions, Transformer, encodings

compare = settings(deadline=None, derandomize=True, max_examples=15)
DIM = 6


def made(axes: int = 1, causal: bool = True, dim: int = DIM, **parameters: object) -> Encoding:
    return encodings.create("conditional", dim=dim, heads=1, length=8, axes=axes, causal=causal, **parameters)


def grid(height: int, width: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(height), torch.arange(width))


@compare
@given(st.integers(1, 12), st.integers(2, 7), st.integers(1, 3))
def test_causal_on_a_line_is_a_convolution(length: int, window: int, batch: int) -> None:
    """Depthwise, with zeros before the beginning. The kernel's rows go from the token itself backwards."""
    encoding, x = made(window=window), torch.randn(batch, length, DIM)
    kernel = encoding.kernel.flip(0).t().unsqueeze(1)
    expected = x + conv1d(pad(x.mT, (window - 1, 0)), kernel, groups=DIM).mT
    assert_close(encoding.embed(x, Positions.range(length, start=3)), expected)


@compare
@given(st.integers(1, 12), st.sampled_from([3, 5, 7]))
def test_bidirectional_on_a_line_is_centered(length: int, window: int) -> None:
    encoding, x = made(causal=False, window=window), torch.randn(2, length, DIM)
    expected = x + conv1d(x.mT, encoding.kernel.t().unsqueeze(1), padding="same", groups=DIM).mT
    assert_close(encoding.embed(x, Positions.range(length)), expected)


@compare
@given(st.integers(1, 7), st.integers(1, 7), st.sampled_from([3, 5]), st.integers(0, 40))
def test_on_a_grid_it_is_a_convolution_in_any_order_of_tokens(height: int, width: int, window: int, start: int) -> None:
    encoding, cells = made(2, causal=False, window=window), torch.randn(2, DIM, height, width)
    kernel = encoding.kernel.t().reshape(DIM, 1, window, window)
    expected = (cells + conv2d(cells, kernel, padding="same", groups=DIM)).flatten(2).mT
    order = torch.randperm(height * width)
    found = encoding.embed(cells.flatten(2).mT[:, order], Positions((grid(height, width) + start)[order][None]))
    assert_close(found, expected[:, order])


@compare
@given(st.integers(1, 6), st.integers(1, 6))
def test_causal_on_a_grid_is_a_masked_convolution(height: int, width: int) -> None:
    """As in PixelCNN: rows above, and the own row up to the token."""
    encoding, cells = made(2), torch.randn(2, DIM, height, width)
    kernel = torch.zeros(DIM, 9)
    kernel[:, :5] = encoding.kernel.t()
    expected = cells + conv2d(cells, kernel.view(DIM, 1, 3, 3), padding="same", groups=DIM)
    assert_close(encoding.embed(cells.flatten(2).mT, Positions(grid(height, width)[None])), expected.flatten(2).mT)


@compare
@given(st.integers(1, 14), st.booleans(), st.integers(1, 2), st.integers(0, 1000))
def test_documents_and_padding_by_loop(length: int, causal: bool, axes: int, seed: int) -> None:
    """Every row with documents, padding and positions of its own; spots may be taken twice."""
    source = torch.Generator().manual_seed(seed)
    encoding = made(axes, causal)
    x = torch.randn(2, length, DIM, generator=source)
    positions = torch.randint(0, 4, (2, length, axes), generator=source)
    document_ids = (torch.rand(2, length, generator=source) < 0.2).cumsum(1)
    padding_mask = torch.rand(2, length, generator=source) < 0.8
    found = encoding.embed(x, Positions(positions, document_ids=document_ids, padding_mask=padding_mask))
    for b in range(2):
        for i in range(length):
            expected = x[b, i].clone()
            if not padding_mask[b, i]:
                continue
            for weight, step in zip(encoding.kernel, encoding.line if axes == 1 else encoding.grid, strict=True):
                if axes == 1:
                    spots = [i - step]
                else:
                    wanted = positions[b, i] - torch.tensor(step)
                    same = [j for j in range(length) if torch.equal(positions[b, j], wanted)]
                    spots = [j for j in same if not causal or j <= i]
                own = [
                    j
                    for j in spots
                    if 0 <= j < length and padding_mask[b, j] and document_ids[b, j] == document_ids[b, i]
                ]
                if own:
                    expected = expected + weight * x[b, own[-1]]
            assert_close(found[b, i], expected)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("causal", [True, False])
def test_with_a_kernel_of_zeros_it_is_none(axes: int, causal: bool) -> None:
    config = dict(vocabulary=9, dim=16, heads=2, layers=2, length=12, axes=axes, causal=causal, dropout=0.0)
    tokens, places = torch.randint(0, 9, (2, 12)), grid(3, 4)[:, 2 - axes :]
    model = Transformer(ModelConfig(encoding="conditional(size=0)", **config)).eval()
    x = torch.randn(2, 12, 16)
    assert torch.equal(model.parts[0].embed(x, Positions(places[None])), x)
    if axes == 1:
        plain = Transformer(ModelConfig(encoding="none", **config)).eval()
        assert torch.equal(model(tokens, positions=places), plain(tokens, positions=places))


@pytest.mark.parametrize("size", [0.1, 1.0])
@pytest.mark.parametrize("axes", [1, 2])
def test_what_is_added_starts_at_its_size(size: float, axes: int) -> None:
    encoding = made(axes, dim=4096, size=size)
    x = torch.randn(1, 36, 4096)
    inside = grid(6, 6)[:, 2 - axes :]
    added = (encoding.embed(x, Positions(inside[None])) - x)[0, 20]  # a token with all its neighbors
    assert added.square().mean().sqrt().item() == pytest.approx(size, rel=0.1)


@pytest.mark.parametrize("axes", [1, 2])
def test_gradients(axes: int) -> None:
    encoding = made(axes, causal=False).double()
    positions = Positions(grid(2, 3)[None, :, 2 - axes :], padding_mask=torch.tensor([[True] * 5 + [False]]))

    def embedded(x: Tensor, kernel: Tensor) -> Tensor:
        bare = copy.copy(encoding)
        bare._parameters = {}
        bare.kernel = kernel
        return bare.embed(x, positions)

    x = torch.randn(2, 6, DIM, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(embedded, (x, encoding.kernel))


def model_on_a_grid(causal: bool = True, **more: object) -> Transformer:
    config = dict(vocabulary=11, encoding="conditional(size=1)", dim=16, heads=2, layers=2, length=24, axes=2)
    return Transformer(ModelConfig(**(config | dict(causal=causal, dropout=0.0) | more))).eval()


def test_causal_on_a_grid_no_token_sees_a_later_one_cached_or_not() -> None:
    model, tokens, places = model_on_a_grid(), torch.randint(0, 11, (2, 20)), grid(4, 5)
    whole = model(tokens, positions=places)
    assert_close(model(tokens[:, :13], positions=places[:13]), whole[:, :13], atol=1e-5, rtol=1e-5)
    cache, found = model.cache(2, 20), []
    for start, stop in [(0, 7), *((i, i + 1) for i in range(7, 20))]:
        found.append(model(tokens[:, start:stop], positions=places[start:stop], cache=cache))
    assert_close(torch.cat(found, dim=1), whole, atol=1e-5, rtol=1e-5)


def test_cells_in_any_order_never_see_a_later_token() -> None:
    """The first of these tokens stands below the second, which comes later."""
    model, places = model_on_a_grid(), torch.tensor([[1, 0], [0, 0]])
    first, second = (model(torch.tensor([[3, later]]), positions=places)[:, 0] for later in (4, 5))
    assert torch.equal(first, second)


@pytest.mark.parametrize("causal", [True, False])
def test_grids_packed_and_padded_equal_separate_ones(causal: bool) -> None:
    model = model_on_a_grid(causal)
    tokens, places = torch.randint(0, 11, (1, 21)), torch.cat((grid(3, 4), grid(3, 3)))
    document_ids = torch.tensor([[0] * 12 + [1] * 9])
    apart = torch.cat([model(tokens[:, s], positions=places[s]) for s in (slice(12), slice(12, 21))], dim=1)
    assert_close(model(tokens, positions=places, document_ids=document_ids), apart, atol=1e-5, rtol=1e-5)
    padding_mask = torch.arange(21)[None] >= 12  # what stands in the same spots before is padding
    assert_close(
        model(tokens, positions=places, padding_mask=padding_mask)[:, 12:], apart[:, 12:], atol=1e-5, rtol=1e-5
    )


def test_a_window_has_a_largest_size() -> None:
    """On text it takes as many steps as it is wide, on a grid the square of that."""
    assert len(made(window=255).kernel) == 255 and not made(window=255).grid
    assert len(made(2, False, window=31).kernel) == 31**2
    for window in (256, 2_000_001, 10**9):
        with pytest.raises(InputError, match="window must be at least 2 and at most 255"):
            made(window=window)
    with pytest.raises(InputError, match="a window of at most 31 on a grid, got 33"):
        made(2, window=33)


def test_a_window_without_a_middle_is_refused() -> None:
    made(window=4)
    for axes, causal in ((1, False), (2, True), (2, False)):
        with pytest.raises(InputError, match="window must be odd there, got 4"):
            made(axes, causal, window=4)
