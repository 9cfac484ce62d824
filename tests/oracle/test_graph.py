"""Relations on graphs: shortest paths found by breadth-first search, each pair read by hand."""

from collections import deque

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate import InputError
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


def distances(edges: set[tuple[int, int]], nodes: int) -> list[list[int]]:
    """How many edges lie between two nodes; -1 if no path does."""
    found = [[-1] * nodes for _ in range(nodes)]
    for start in range(nodes):
        found[start][start] = 0
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for other in range(nodes):
                if found[start][other] < 0 and ((node, other) in edges or (other, node) in edges):
                    found[start][other] = found[start][node] + 1
                    queue.append(other)
    return found


@compare
@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 12), st.sets(st.tuples(*[st.integers(0, 11)] * 2)))
def test_each_pair_of_nodes(heads: int, farthest: int, nodes: int, edges: set[tuple[int, int]]) -> None:
    ours = create("graph", dim=4 * heads, heads=heads, length=12, causal=False, farthest=farthest)
    paths = distances(edges, nodes)
    positions = Positions.range(nodes)
    bias = ours.bias(AttentionContext(positions, positions, causal=False, relation=torch.tensor([paths])))
    for i in range(nodes):
        for j in range(nodes):
            row = 0 if paths[i][j] < 0 else 1 + min(paths[i][j], farthest)
            assert torch.equal(bias[0, :, i, j], ours.table[row])


@compare
@given(st.integers(1, 5), st.integers(1, 20), st.integers(1, 30))
def test_a_chain_is_relative(heads: int, farthest: int, length: int) -> None:
    sizes = dict(dim=4 * heads, heads=heads, length=16)
    ours, relative = create("graph", **sizes, farthest=farthest), create("relative", **sizes, farthest=farthest)
    relative.table.data = ours.table.data[1:]
    context = AttentionContext.self_attention(Positions.range(length))
    chain = AttentionContext(context.q, context.k, relation=context.relative_positions().abs())
    assert torch.equal(ours.bias(chain).tril(), relative.bias(context).tril())


def test_what_it_cannot_read_is_refused() -> None:
    ours = create("graph", dim=8, heads=2, length=8, std=0.0)
    assert ours.table.abs().max() == 0
    positions = Positions.range(3)
    with pytest.raises(InputError, match="add it to the AttentionContext"):
        ours.bias(AttentionContext.self_attention(positions))
    with pytest.raises(InputError, match="found -2"):
        ours.bias(AttentionContext(positions, positions, relation=torch.full((1, 3, 3), -2)))
