"""Every path that can be chosen or forced, with its gradients, against one plain reference in float64."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ordinate import AttentionContext, BoundEncoding, Encoding, InputError, attend
from ordinate.model import attention

from .cases import EVERY, LENGTH, Case, first_of
from .reference import plain

PATHS = ("fused", "explicit", "blocks", "toeplitz", "flex")


def pairs(case: Case) -> dict[str, AttentionContext]:
    """The kinds of pairs that attention meets: whole, decoding, padded, packed."""
    positions = case.token_positions(LENGTH)
    causal = case.causal
    whole = AttentionContext(positions, positions, causal, relation=case.relation(case.positions(LENGTH)))
    padding_mask = torch.arange(LENGTH)[None] >= torch.tensor([[3], [0]])
    document_ids = torch.tensor([[0] * 10 + [1] * (LENGTH - 10)])
    padded, packed = (
        replace(positions, padding_mask=padding_mask, first=None),
        replace(positions, document_ids=document_ids, first=None),
    )
    found = {
        "whole": whole,
        "padded": AttentionContext(padded, padded, causal, relation=whole.relation),
        "packed": AttentionContext(packed, packed, causal, mask_documents=True, relation=whole.relation),
    }
    if causal:
        found["last"] = whole.query_block(LENGTH - 3, LENGTH)
    return found


def inputs(case: Case, encoding: Encoding, context: AttentionContext) -> list[Tensor]:
    """Queries, keys, values and the layer's input, all leaves in float64."""
    source = torch.Generator().manual_seed(3)
    shapes = [
        (2, 4, context.q.length, 8),
        (2, 4, context.k.length, 8),
        (2, 4, context.k.length, 8),
        (2, context.k.length, 32),
    ]
    return [torch.randn(shape, generator=source, dtype=torch.float64).requires_grad_() for shape in shapes]


def outcome(
    encoding: Encoding, context: AttentionContext, given: list[Tensor], path: attention.Path | None, dtype: torch.dtype
) -> list[Tensor]:
    """The output, and the gradients of inputs and of the encoding's parameters, under a fixed weighting."""
    encoding = encoding.to(dtype)
    trained = path != "flex"
    q, k, v, x = (t.detach().to(dtype).requires_grad_(trained) for t in given)
    encoding.requires_grad_(trained)
    bound = BoundEncoding(encoding, context)
    features = encoding.features(x, encoding.relabel_context(context).k, None) if encoding.feature_width else None
    turned = bound.rotate(q, k, features)
    if path == "reference":  # type: ignore[comparison-overlap]
        out = plain(encoding, *turned, v, context, features)
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


@pytest.mark.parametrize("causal", first_of(True, False))
@pytest.mark.parametrize("name", EVERY)
def test_every_path_that_can_is_the_reference_and_the_others_refuse(
    name: str, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "BLOCK", 7)
    case = Case.or_causal(name, causal)
    encoding = case.model.per_layer[0]
    for kind, context in pairs(case).items():
        given = inputs(case, encoding, context)
        expected = outcome(encoding, context, given, "reference", torch.float64)  # type: ignore[arg-type]
        for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 2e-4)):
            for path in (None, *PATHS):
                q = given[0].to(dtype)
                bound = BoundEncoding(encoding.to(dtype), context)
                if path is not None and attention.unsupported(path, q, given[1], bound):
                    with pytest.raises(InputError, match=f"the {path} path does not support"):
                        outcome(encoding, context, given, path, dtype)
                    continue
                found = outcome(encoding, context, given, path, dtype)
                for a, b in zip(found, expected, strict=path != "flex"):
                    off = (a - b).abs().max().item() / max(1.0, b.abs().max().item())
                    assert off < tolerance, (kind, path, dtype, off)


@pytest.mark.parametrize("name", EVERY)
def test_some_path_other_than_the_plain_one_was_compared(name: str) -> None:
    """A test that compares a path with itself says nothing."""
    case = Case(name)
    bound = BoundEncoding(case.model.per_layer[0], pairs(case)["whole"])
    q = torch.zeros(2, 4, LENGTH, 8)
    able = [path for path in PATHS if not attention.unsupported(path, q, q, bound)]
    assert {"explicit", "blocks"} <= set(able)
    assert bound.encoding.needs_scores or "fused" in able
