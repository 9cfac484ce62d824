"""Any value for any parameter: an encoding refuses it in one sentence, or works with it."""

from dataclasses import replace
from random import Random

import pytest
import torch

from ordinate import AttentionContext, BoundEncoding, Encoding, InputError, Positions, attend, encodings
from ordinate.core.errors import AxesError

from .cases import REGISTERED

SIZES = dict(dim=32, heads=4, length=16, token_size=0.25)
VALUES = (
    None, "x", True, float("nan"), float("inf"), 0, -1, 1, 2, 3, 1e-30, 1e30, 1e308, 0.5, [], [1], [1, 2, 3], (-1, 2),
    [float("nan")], {}, 10**4, 10**400, -0.0,
)  # fmt: skip
DRAWS = 3  # values for each parameter, beside its choices
FEW = 2_000_000  # weights: larger ones are made, but not run


def axes_of(name: str) -> int:
    for axes in (1, 2):
        try:
            encodings.create(name, **SIZES, axes=axes)
        except AxesError:
            continue
        return axes
    return 3


def run(encoding: Encoding) -> list[torch.Tensor]:
    """Embeddings and attention of eight tokens, on a line or in a corner of a grid."""
    axes, source = encoding.shape.axes, torch.Generator().manual_seed(0)
    index = torch.arange(8)
    places = index[:, None] if axes == 1 else torch.stack([index // 3] * (axes - 1) + [index % 3], dim=-1)
    tokens = torch.randint(0, 12, (2, 8), generator=source)
    positions = Positions(places[None], segments=torch.zeros(2, 8, dtype=torch.long), tokens=tokens)
    context = replace(AttentionContext.self_attention(positions), relation=torch.ones(1, 8, 8, dtype=torch.long))
    q, k, v = torch.randn(3, 2, 4, 8, 8, generator=source)
    own = encoding.relabel_context(context).k
    x = encoding.embed(torch.randn(2, 8, 32, generator=source), own)
    bound = BoundEncoding(encoding, context)
    features = bound.features(x)
    q, k = bound.rotate(q, k, features)
    return [x, attend(q, k, v, bound, features=features)]


@torch.no_grad()
@pytest.mark.parametrize("name", REGISTERED)
def test_any_value_is_refused_or_works(name: str) -> None:
    axes, source = axes_of(name), Random(name)
    for parameter in encodings.registry.parameters(name).values():
        for value in (*source.sample(VALUES, DRAWS), *parameter.choices):
            try:
                encoding = encodings.create(name, **SIZES, axes=axes, **{parameter.name: value})
                if sum(weight.numel() for weight in encoding.parameters()) < FEW:
                    assert all(found.isfinite().all() for found in run(encoding.eval())), (parameter.name, value)
            except InputError as error:
                assert str(error) and "\n" not in str(error)
