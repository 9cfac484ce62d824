"""How large what an encoding adds is beside the token embeddings, at the start."""

import math

import pytest
import torch
from torch.nn import functional as F

from ordinate import InputError, ModelConfig, Transformer, encodings
from ordinate.core.encoding import Encoding, Shape
from ordinate.core.place import Place

LENGTH, DIM = 40, 96
ADDED = [name for name in encodings.names() if encodings.registry.get(name).family == "added"]


def model_of(encoding: str, **settings: object) -> Transformer:
    for axes in (1, 2):
        base = dict(vocabulary=60, dim=DIM, heads=4, length=LENGTH, axes=axes, dropout=0.0)
        try:
            return Transformer(ModelConfig(**(base | {"encoding": encoding} | settings)))  # type: ignore[arg-type]
        except InputError as error:
            if axes == 2 or "axes" not in str(error):
                raise
    raise AssertionError


@torch.no_grad()
def sizes(model: Transformer, scaled: float = 1.0) -> tuple[float, float]:
    """Root mean squares: of the (scaled) token embeddings, and of what is added to them."""
    tokens = torch.randint(60, (16, LENGTH))
    line = torch.arange(LENGTH)
    positions = line[None, :, None] if model.config.axes == 1 else torch.stack((line // 8, line % 8), dim=-1)[None]
    place = Place(positions, segments=line[None] % 2, first=0 if model.config.axes == 1 else None)
    plain = F.embedding(tokens, model.embedding.weight)
    changed, *_ = model.begin(plain, model.pair(place, None, None))
    return (scaled * plain).square().mean().sqrt().item(), (changed - scaled * plain).square().mean().sqrt().item()


def test_some_encodings_add() -> None:
    assert set(ADDED) >= {"learned", "segment", "sinusoidal"}


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("embedding_std", [None, 0.02, 1.0])
def test_by_default_it_is_as_large_as_the_tokens(name: str, embedding_std: float | None) -> None:
    tokens, added = sizes(model_of(name, embedding_std=embedding_std))
    assert tokens == pytest.approx(embedding_std or DIM**-0.5, rel=0.05)
    assert added == pytest.approx(tokens, rel=0.1)


@pytest.mark.parametrize("name", encodings.names())
def test_nobody_is_five_times_as_large_as_the_tokens(name: str) -> None:
    tokens, added = sizes(model_of(name))
    assert added <= 5 * tokens
    assert (added > 0) is (name in ADDED)


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("size", [0.25, 2.0])
def test_another_size_is_so_many_times_that(name: str, size: float) -> None:
    _, once = sizes(model_of(name))
    _, other = sizes(model_of(f"{name}(size={size})"))
    assert other == pytest.approx(size * once, rel=1e-4)


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("embedding_std", [None, 1.0])
def test_without_a_size_it_is_what_its_definition_says(name: str, embedding_std: float | None) -> None:
    defined = {"sinusoidal": 0.5**0.5}.get(name, 0.02)
    _, added = sizes(model_of(f"{name}(size=none)", embedding_std=embedding_std))
    assert added == pytest.approx(defined, rel=0.1)
    alone = encodings.create(name, dim=DIM, heads=4, length=LENGTH)  # whose tokens are not known
    place = Place(torch.arange(LENGTH).view(1, -1, 1), segments=torch.arange(LENGTH)[None] % 2)
    values = alone.embed(torch.zeros(1, LENGTH, DIM), place)
    assert values.square().mean().sqrt().item() == pytest.approx(defined, rel=0.1)


@pytest.mark.parametrize("name", ["learned", "sinusoidal"])
def test_scaled_tokens_are_what_it_is_matched_to(name: str) -> None:
    tokens, added = sizes(model_of(f"{name}(scale_tokens=true)"), scaled=math.sqrt(DIM))
    assert tokens == pytest.approx(1.0, rel=0.05) and added == pytest.approx(tokens, rel=0.1)


def test_sines_keep_their_shape_at_any_size() -> None:
    def added(encoding: Encoding) -> torch.Tensor:
        return encoding.embed(torch.zeros(1, LENGTH, DIM), Place.range(LENGTH))

    defined, matched = (
        encodings.create("sinusoidal", dim=DIM, heads=4, length=LENGTH, token_size=size) for size in (None, 0.3)
    )
    torch.testing.assert_close(added(matched), added(defined) * 0.3 * 2**0.5)


def test_what_a_size_is_matched_to() -> None:
    shape = Shape(dim=16, heads=2, length=8, token_size=0.5)
    assert shape.matched(None) is None and Shape(dim=16, heads=2, length=8).matched(1.0) is None
    assert (shape.matched(1.0), shape.matched(3.0), shape.matched(1.0, scale_tokens=True)) == (0.5, 1.5, 2.0)


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan])
def test_tokens_have_a_size_above_zero(size: float) -> None:
    with pytest.raises(InputError, match="token_size must be above 0, got"):
        Shape(dim=16, heads=2, length=8, token_size=size)


@pytest.mark.parametrize("name", ADDED)
def test_what_replaced_the_spread_is_told(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has no parameter std: known: .*size"):
        encodings.create(name, dim=16, heads=2, length=8, std=0.02)
    with pytest.raises(InputError, match="size must be at least 0, got -1"):
        encodings.create(name, dim=16, heads=2, length=8, size=-1.0)
