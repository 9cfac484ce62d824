"""Every path that can be chosen or forced, with its gradients, against one plain reference in float64."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ordinate import Bound, Encoding, InputError, Pair, attend
from ordinate.model import attention

from .cases import LENGTH, NAMES, Case
from .reference import plain

PATHS = ("fused", "explicit", "blocks", "gap", "flex")


def pairs(case: Case) -> dict[str, Pair]:
    """The kinds of pairs that attention meets: whole, decoding, padded, packed."""
    place = case.place(LENGTH)
    causal = case.causal
    whole = Pair(place, place, causal, relation=case.relation(case.positions(LENGTH)))
    keep = torch.arange(LENGTH)[None] >= torch.tensor([[3], [0]])
    documents = torch.tensor([[0] * 10 + [1] * (LENGTH - 10)])
    padded, packed = replace(place, keep=keep, first=None), replace(place, documents=documents, first=None)
    found = {
        "whole": whole,
        "padded": Pair(padded, padded, causal, relation=whole.relation),
        "packed": Pair(packed, packed, causal, separate=True, relation=whole.relation),
    }
    if causal:
        found["last"] = whole.rows(LENGTH - 3, LENGTH)
    return found


def inputs(case: Case, encoding: Encoding, pair: Pair) -> list[Tensor]:
    """Queries, keys, values and the layer's input, all leaves in float64."""
    source = torch.Generator().manual_seed(3)
    shapes = [(2, 4, pair.q.length, 8), (2, 4, pair.k.length, 8), (2, 4, pair.k.length, 8), (2, pair.k.length, 32)]
    return [torch.randn(shape, generator=source, dtype=torch.float64).requires_grad_() for shape in shapes]


def outcome(
    encoding: Encoding, pair: Pair, given: list[Tensor], path: attention.Path | None, dtype: torch.dtype
) -> list[Tensor]:
    """The output, and the gradients of inputs and of the encoding's parameters, under a fixed weighting."""
    encoding = encoding.to(dtype)
    trained = path != "flex"
    q, k, v, x = (t.detach().to(dtype).requires_grad_(trained) for t in given)
    encoding.requires_grad_(trained)
    bound = Bound(encoding, pair)
    features = encoding.features(x, encoding.placed(pair).k, None) if encoding.feature_width else None
    turned = bound.rotate(q, k, features)
    if path == "reference":  # type: ignore[comparison-overlap]
        out = plain(encoding, *turned, v, pair, features)
    else:
        out = attend(*turned, v, bound, path, features)
    if path == "flex":  # has no gradients on a CPU
        return [out.detach().double()]
    weighting = torch.randn(out.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    (out.double() * weighting).sum().backward()
    leaves = [q, k, v, x, *encoding.parameters()]
    found = [out.detach().double(), *(t.new_zeros(t.shape) if t.grad is None else t.grad for t in leaves)]
    encoding.zero_grad(set_to_none=True)
    return [t.double() for t in found]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_path_that_can_is_the_reference_and_the_others_refuse(
    name: str, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "BLOCK", 7)
    case = Case.or_causal(name, causal)
    encoding = case.model.per_layer[0]
    for kind, pair in pairs(case).items():
        given = inputs(case, encoding, pair)
        expected = outcome(encoding, pair, given, "reference", torch.float64)  # type: ignore[arg-type]
        for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 2e-4)):
            for path in (None, *PATHS):
                q = given[0].to(dtype)
                bound = Bound(encoding.to(dtype), pair)
                if path is not None and attention.cannot(path, q, given[1], bound):
                    with pytest.raises(InputError, match=f"the {path} path cannot"):
                        outcome(encoding, pair, given, path, dtype)
                    continue
                found = outcome(encoding, pair, given, path, dtype)
                for a, b in zip(found, expected, strict=path != "flex"):
                    off = (a - b).abs().max().item() / max(1.0, b.abs().max().item())
                    assert off < tolerance, (kind, path, dtype, off)


@pytest.mark.parametrize("name", NAMES)
def test_some_path_other_than_the_plain_one_was_compared(name: str) -> None:
    """A test that compares a path with itself says nothing."""
    case = Case(name)
    bound = Bound(case.model.per_layer[0], pairs(case)["whole"])
    q = torch.zeros(2, 4, LENGTH, 8)
    able = [path for path in PATHS if not attention.cannot(path, q, q, bound)]
    assert {"explicit", "blocks"} <= set(able)
    assert bound.encoding.content or "fused" in able
