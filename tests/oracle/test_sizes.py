"""Parameter counts of the four sizes, exact, without a byte of weights."""

import pytest
import torch

from ordinate import Transformer, preset


@pytest.mark.parametrize("encoding", ["none", "rope"])
@pytest.mark.parametrize(
    ("size", "count"), [("tiny", 58_727_680), ("small", 163_598_592), ("medium", 469_815_296), ("large", 1_208_029_184)]
)
def test_parameter_count(size: str, count: int, encoding: str) -> None:
    """Neither encoding has parameters of its own; the embedding is counted once, as the tied head."""
    with torch.device("meta"):
        model = Transformer(preset(size, encoding=encoding))
    assert sum(p.numel() for p in model.parameters()) == count
    assert all(p.is_meta for p in model.parameters())
