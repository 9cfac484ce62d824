"""A table that starts as sinusoids, against the sinusoidal encoding and against the learned one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate import InputError
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
sizes = st.integers(2, 60)


def added(encoding: Encoding, positions: Tensor) -> Tensor:
    """What the encoding makes of embeddings of ones, relabeling first as a model does."""
    token_positions = Positions(encoding.relabel(positions.view(1, -1, 1)))
    return encoding.embed(torch.ones(1, token_positions.length, encoding.shape.dim), token_positions)[0]


@compare
@given(
    sizes, sizes, st.sampled_from(["interleaved", "halves"]), st.sampled_from(["paper", "tensor2tensor"]),
    st.sampled_from([None, 0.25, 1.0]), st.booleans(), st.sampled_from([100.0, 10_000.0]),
)  # fmt: skip
def test_at_the_start_it_is_sinusoidal(
    rows: int, dim: int, layout: str, exponent: str, size: float | None, scale_tokens: bool, base: float
) -> None:
    """Under every parameter that both have, and in rows that training will not touch."""
    both = dict(layout=layout, exponent=exponent, size=size, scale_tokens=scale_tokens, base=base)
    of = dict(dim=dim, heads=1, length=8, token_size=0.3)
    at = torch.randperm(rows)
    assert_close(added(create("sininit", rows=rows, **of, **both), at), added(create("sinusoidal", **of, **both), at))


@compare
@given(sizes, st.integers(1, 80), st.sampled_from(["clip", "interpolate"]), st.booleans())
def test_from_then_on_it_is_learned(rows: int, more: int, beyond: str, scale_tokens: bool) -> None:
    """With one table, both do the same within the rows and past them, and declare the same."""
    ours, learned = (
        create(name, dim=6, heads=1, length=rows, beyond=beyond, scale_tokens=scale_tokens)
        for name in ("sininit", "learned")
    )
    ours.table = learned.table
    at = torch.arange(rows + more)
    assert torch.equal(added(ours, at), added(learned, at))
    assert (ours.extrapolation, ours.max_positions, ours.skip_contracts) == (
        learned.extrapolation,
        learned.max_positions,
        learned.skip_contracts,
    )


def test_past_its_rows_it_does_what_it_declares() -> None:
    of = dict(dim=6, heads=1, length=8)
    assert create("sininit", **of).extrapolation == "refuses"
    assert create("sininit", **of, beyond="clip").extrapolation == "clips"
    assert create("sininit", **of, beyond="interpolate").extrapolation == "extends"
    assert create("sininit", **of, rows=9).extrapolation == "untrained"
    with pytest.raises(InputError, match="position 8 is out of range: sininit refuses from position 8 on"):
        added(create("sininit", **of), torch.arange(9))


def test_it_is_trained() -> None:
    ours = create("sininit", dim=6, heads=1, length=8)
    added(ours, torch.arange(8)).sum().backward()
    assert torch.equal(ours.table.grad, torch.ones(8, 6))
