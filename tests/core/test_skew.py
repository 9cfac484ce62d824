"""Products by relative position, against the same with an index."""

import pytest
import torch
from torch.testing import assert_close

from ordinate import AttentionContext, Positions
from ordinate.encodings._shared.skew import skew_positions, skewed_product


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 6), (4, 4), (3, 7), (7, 7)])
def test_a_skewed_product_is_the_product_with_the_vector_of_each_relative_position(
    queries: int, keys: int, causal: bool
) -> None:
    source = torch.Generator().manual_seed(queries + 10 * keys)
    positions = Positions.range(keys, start=3)
    context = AttentionContext(positions.slice(keys - queries, keys), positions, causal=causal)
    relative = skew_positions(context)
    vectors = torch.randn(2, len(relative), 5, generator=source, dtype=torch.float64)
    q = torch.randn(3, 2, queries, 5, generator=source, dtype=torch.float64)
    found = skewed_product(q, vectors, queries - 1, keys)
    column = {int(r): index for index, r in enumerate(relative)}
    for i in range(queries):
        for j in range(keys):
            r = keys - queries + i - j
            if causal and r < 0:
                continue  # masked: the entry belongs to another row
            assert_close(found[:, :, i, j], (q[:, :, i] * vectors[:, column[r]]).sum(dim=-1))
