"""How large what an encoding adds is beside the token embeddings, at the start; and what else all that add share."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ordinate import InputError, ModelConfig, Transformer, encodings
from ordinate.core.encoding import Encoding, Shape
from ordinate.core.positions import Positions
from ordinate.statistics.alarms import oversized

LENGTH, DIM = 40, 96
ADDED = [name for name in encodings.names() if encodings.registry.get(name).family == "added"]

# Exceptions, each with its reason. Nobody else may differ.
DIGITS = {  # added as they are unless a size is asked for
    "binary": "its definition is about size: digits are 0 and 1, zeros on the left",
    "binary_norm": "its definition is about size: digits are -1 and 1 in every channel",
    "decimal": "its definition is about size: digits go up to 9",
    "decimal_norm": "its definition is about size: digits lie between -1 and 1 in every channel",
}
SHARE = {"conditional": "adds shares of the tokens around, a tenth at first: there is nothing else to match"}
BESIDE = {  # without scale_tokens
    "segment": "stands beside another encoding, whose positions it would scale too",
    "abacus": "stands beside another encoding, whose positions it would scale too",
    "coupled": "stands beside another encoding, whose positions it would scale too",
    "conditional": "adds nothing but tokens, so their scale changes nothing",
}
SIZED = [name for name in ADDED if name not in SHARE]
MATCHED = [name for name in SIZED if name not in DIGITS]
SCALING = [name for name in MATCHED if name not in BESIDE]


def model_of(encoding: str, **settings: object) -> Transformer:
    for axes in (1, 2, 3):
        base = dict(vocabulary=60, dim=DIM, heads=4, length=LENGTH, axes=axes, dropout=0.0)
        try:
            return Transformer(ModelConfig(**(base | {"encoding": encoding} | settings)))  # type: ignore[arg-type]
        except InputError as error:
            if axes == 3 or "axes" not in str(error):
                raise
    raise AssertionError


def place_of(axes: int, tokens: Tensor | None = None) -> Positions:
    line = torch.arange(LENGTH)
    positions = line[:, None] if axes == 1 else torch.stack((line // 8, line % 8, *[line % 3] * (axes - 2)), dim=-1)
    return Positions(positions[None], segments=line[None] % 2, first=0 if axes == 1 else None, tokens=tokens)


@torch.no_grad()
def sizes(model: Transformer, scaled: float = 1.0) -> tuple[float, float]:
    """Root mean squares: of the (scaled) token embeddings, and of what is added to them."""
    tokens = torch.randint(10, (16, LENGTH))  # digits, for those who count them
    positions = place_of(model.config.axes, tokens)
    relation = torch.zeros(1, LENGTH, LENGTH, dtype=torch.long)
    plain = F.embedding(tokens, model.embedding.weight)
    changed, *_ = model.embed_and_bind(plain, model.context(positions, relation=relation))
    return (scaled * plain).square().mean().sqrt().item(), (changed - scaled * plain).square().mean().sqrt().item()


def alone(name: str, **parameters: object) -> Tensor:
    """What is added by an encoding that does not know the tokens' size."""
    encoding = encodings.create(name, dim=DIM, heads=4, length=LENGTH, axes=axes_of(name), **parameters)  # type: ignore[arg-type]
    return added(encoding, torch.zeros(1, LENGTH, DIM))


def added(encoding: Encoding, x: Tensor) -> Tensor:
    tokens = torch.arange(LENGTH)[None] % 10
    return encoding.embed(x, place_of(encoding.shape.axes, tokens.expand(len(x), -1)))


def axes_of(name: str) -> int:
    return encodings.example(name).shape.axes


def test_some_encodings_add() -> None:
    assert set(ADDED) >= {"learned", "segment", "sinusoidal"} and set(ADDED) >= {*DIGITS, *SHARE, *BESIDE}


@pytest.mark.parametrize("name", MATCHED)
@pytest.mark.parametrize("embedding_std", [None, 0.02, 1.0])
def test_by_default_it_is_as_large_as_the_tokens(name: str, embedding_std: float | None) -> None:
    tokens, size = sizes(model_of(name, embedding_std=embedding_std))
    assert tokens == pytest.approx(embedding_std or DIM**-0.5, rel=0.05)
    assert size == pytest.approx(tokens, rel=0.1)


@pytest.mark.parametrize("name", encodings.names())
def test_nobody_is_five_times_as_large_as_the_tokens_but_digits(name: str) -> None:
    tokens, size = sizes(model_of(name))
    assert oversized(size, tokens) is (name in ("binary_norm", "decimal", "decimal_norm"))
    assert (size > 0) is (name in ADDED)


@pytest.mark.parametrize("name", DIGITS)
@pytest.mark.parametrize("embedding_std", [0.02, 1.0])
def test_digits_are_added_as_they_are_unless_a_size_is_asked_for(name: str, embedding_std: float) -> None:
    _, size = sizes(model_of(name, embedding_std=embedding_std))
    assert size == pytest.approx(alone(name).square().mean().sqrt().item(), rel=1e-5)
    tokens, size = sizes(model_of(f"{name}(size=1)", embedding_std=embedding_std))
    assert size == pytest.approx(tokens, rel=0.1)
    words = encodings.describe(name)["words"]
    assert "added as they are" in words and "size=1" in words


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("size", [0.25, 2.0])
def test_another_size_is_so_many_times_that(name: str, size: float) -> None:
    _, once = sizes(model_of(f"{name}(size=1)"))
    _, other = sizes(model_of(f"{name}(size={size})"))
    assert other == pytest.approx(size * once, rel=1e-4)


def in_digits(base: int, shift: float = 0.0, over: float = 1.0) -> float:
    """The root mean square of the trained positions' digits, by Python's own."""
    text = [f"{p:0{DIM}b}" if base == 2 else f"{p:0{DIM}d}" for p in range(LENGTH)]
    return (sum(((int(c) - shift) / over) ** 2 for t in text for c in t) / (LENGTH * DIM)) ** 0.5


DEFINED = {
    **dict.fromkeys(("sinusoidal", "sininit", "sinusoidal_2d", "random_fourier"), 0.5**0.5),
    **dict.fromkeys(("learned", "learned_2d", "segment", "abacus", "coupled"), 0.02),
    "sinonly": (sum(math.sin(p * 1e4 ** (-k / DIM)) ** 2 for p in range(LENGTH) for k in range(DIM)) / LENGTH / DIM)
    ** 0.5,
    "binary": in_digits(2),
    "binary_norm": in_digits(2, 0.5, 0.5),
    "gray": (sum((p ^ (p >> 1)).bit_count() for p in range(LENGTH)) / (LENGTH * DIM)) ** 0.5,
    "decimal": in_digits(10),
    "decimal_norm": in_digits(10, 4.5, 4.5),
}


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("embedding_std", [None, 1.0])
def test_without_a_size_it_is_what_its_definition_says(name: str, embedding_std: float | None) -> None:
    _, size = sizes(model_of(f"{name}(size=none)", embedding_std=embedding_std))
    apart = alone(name).square().mean().sqrt().item()  # where the tokens are not known
    if name in DEFINED:
        assert size == pytest.approx(DEFINED[name], rel=0.1) and apart == pytest.approx(DEFINED[name], rel=0.1)
    else:  # a network that starts as torch starts its layers
        _, other = sizes(model_of(f"{name}(size=none)", embedding_std=0.02))
        assert size == pytest.approx(other, rel=1e-5) and size == pytest.approx(apart, rel=0.2)


@pytest.mark.parametrize("name", SCALING)
def test_scaled_tokens_are_what_it_is_matched_to(name: str) -> None:
    tokens, size = sizes(model_of(f"{name}(scale_tokens=true)"), scaled=math.sqrt(DIM))
    assert tokens == pytest.approx(1.0, rel=0.05) and size == pytest.approx(tokens, rel=0.1)


@pytest.mark.parametrize("name", DIGITS)
def test_digits_stay_as_they_are_beside_scaled_tokens(name: str) -> None:
    tokens, size = sizes(model_of(f"{name}(scale_tokens=true)"), scaled=math.sqrt(DIM))
    assert tokens == pytest.approx(1.0, rel=0.05) and size == pytest.approx(DEFINED[name], rel=1e-4)


@pytest.mark.parametrize("name", ADDED)
def test_all_that_add_take_the_same_parameters_in_the_same_words(name: str) -> None:
    ours, usual = (encodings.registry.parameters(n) for n in (name, "sinusoidal"))
    for shared in ("size", "dropout", "scale_tokens"):
        if shared == "scale_tokens" and name in BESIDE:
            assert shared not in ours
        elif name not in SHARE:
            assert ours[shared].help == usual[shared].help and ours[shared].type == usual[shared].type
            assert ours[shared].default == (None if shared == "size" and name in DIGITS else usual[shared].default)


@pytest.mark.parametrize("name", SIZED)
def test_dropout_is_of_the_sum_and_in_training_alone(name: str) -> None:
    make = dict(dim=DIM, heads=4, length=LENGTH, axes=axes_of(name), token_size=0.1)
    whole, dropping = (encodings.create(name, **make, dropout=p) for p in (0.0, 0.25))  # type: ignore[arg-type]
    x = torch.full((3, LENGTH, DIM), 100.0)
    kept = added(whole, x)
    assert torch.equal(added(dropping.eval(), x), kept)
    found = added(dropping.train(), x)
    dropped = found == 0
    assert dropped.float().mean().item() == pytest.approx(0.25, abs=0.02)
    torch.testing.assert_close(found[~dropped], kept[~dropped] / 0.75)
    state = torch.get_rng_state()
    added(whole.train(), x)
    assert torch.equal(state, torch.get_rng_state())


def test_sines_keep_their_shape_at_any_size() -> None:
    defined, matched = (
        encodings.create("sinusoidal", dim=DIM, heads=4, length=LENGTH, token_size=size) for size in (None, 0.3)
    )
    zeros = torch.zeros(1, LENGTH, DIM)
    torch.testing.assert_close(added(matched, zeros), added(defined, zeros) * 0.3 * 2**0.5)


@pytest.mark.parametrize("name", ["sinonly", "binary", "decimal", "gray", "continuous"])
@pytest.mark.parametrize("length", [1, 3000])
def test_sizes_that_are_measured(name: str, length: int) -> None:
    """One position may have no size at all; of a long text, a sample is enough."""
    encoding = encodings.create(name, dim=DIM, heads=4, length=length, size=1.0, token_size=0.3)
    values = encoding.embed(torch.zeros(1, length, DIM), Positions.range(length))
    assert values.isfinite().all()
    if values.any():
        assert values.square().mean().sqrt().item() == pytest.approx(0.3, rel=0.02)


def test_what_a_size_is_matched_to() -> None:
    shape = Shape(dim=16, heads=2, length=8, token_size=0.5)
    assert shape.matched(None) is None and Shape(dim=16, heads=2, length=8).matched(1.0) is None
    assert (shape.matched(1.0), shape.matched(3.0), shape.matched(1.0, scale_tokens=True)) == (0.5, 1.5, 2.0)


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan])
def test_tokens_have_a_size_above_zero(size: float) -> None:
    with pytest.raises(InputError, match="token_size must be a number above 0, or None, got"):
        Shape(dim=16, heads=2, length=8, token_size=size)


@pytest.mark.parametrize("name", ADDED)
def test_what_replaced_the_spread_is_told(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has no parameter std: known: .*size"):
        encodings.create(name, dim=16, heads=2, length=8, std=0.02)
    with pytest.raises(InputError, match="size must be at least 0, got -1"):
        encodings.create(name, dim=16, heads=2, length=8, size=-1.0)
