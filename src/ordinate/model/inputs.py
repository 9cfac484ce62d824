"""Checks of the model's inputs, and the positions that follow from them.

On the meta device and in compiled code values cannot be read: there, only shapes and types are checked.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ordinate.core.encoding import Encoding, ExtraInput
from ordinate.core.errors import InputError
from ordinate.core.positions import Positions, check_positions
from ordinate.model.cache import Cache
from ordinate.model.config import ModelConfig
from ordinate.model.packed import count_positions, number_documents


def check_inputs(
    config: ModelConfig,
    parts: Sequence[Encoding],
    tokens: Tensor,
    positions: Tensor | None = None,
    segments: Tensor | None = None,
    document_ids: Tensor | None = None,
    padding_mask: Tensor | None = None,
    cache: Cache | None = None,
    *,
    trusted: bool = False,
) -> Positions:
    """The positions of these tokens, with their padding mask and what else the encodings read.

    `trusted`: tokens are within the vocabulary, and as many as the encodings can place.
    """
    _check_tokens(config, tokens, cache, values=not trusted)
    read = {what for part in parts for what in part.extra_inputs}
    segments = _row("segments", segments, tokens)
    _check_read("segments", segments, parts)
    document_ids = _row("document_ids", document_ids, tokens)
    padding_mask = _check_padding_mask(padding_mask, tokens, whole=cache is None)
    if document_ids is not None:
        if cache is not None:
            raise InputError("decoding with a cache takes one document per row: leave out document_ids")
        if config.readout == "readout" or (config.readout != "tokens" and padding_mask is not None):
            found = "readout=readout" if config.readout == "readout" else f"padding_mask with readout={config.readout}"
            raise InputError(
                f"packed documents are read out at their own tokens, got {found}: leave out padding_mask, or set"
                " readout=tokens"
            )
        document_ids = number_documents(document_ids.expand(len(tokens), -1))
    whole = next((part.name for part in parts if not part.real_positions), "")
    token_positions = _make_positions(config, tokens, positions, document_ids, padding_mask, cache, whole)
    ids = tokens.long() if read & {"tokens", "neighbors"} else None
    token_positions = replace(
        token_positions, segments=segments, document_ids=document_ids, tokens=ids, padding_mask=padding_mask
    )
    tightest = parts[0]
    for part in parts:
        tightest = part if part.max_positions < tightest.max_positions else tightest
    if not trusted:
        tightest.check_range(token_positions, more=config.readout == "readout")
    return token_positions


def _check_read(what: ExtraInput, given: Tensor | None, parts: Sequence[Encoding]) -> None:
    """Refuse an input that no encoding reads, and a missing one that an encoding reads."""
    readers = [part.name for part in parts if what in part.extra_inputs]
    if given is None and readers:
        raise InputError(f"{readers[0]} reads the {what} of tokens: pass {what}= to the model")
    if given is not None and not readers:
        names = ", ".join(dict.fromkeys(part.name for part in parts))
        were, them = ("was", "it") if what == "relation" else ("were", "them")
        raise InputError(f"{what} {were} given, but no encoding of this model reads {them} ({names}): leave {them} out")


def check_relation(
    parts: Sequence[Encoding], relation: Tensor | None, tokens: Tensor, before: int, *, extra: bool = False
) -> Int[Tensor, "#b q k"] | None:
    """Check the relation of each token to all tokens so far."""
    _check_read("relation", relation, parts)
    if relation is None:
        return None
    if not isinstance(relation, Tensor) or relation.is_floating_point() or relation.dtype == torch.bool:
        kind = relation.dtype if isinstance(relation, Tensor) else type(relation).__name__
        raise InputError(f"a relation must be a tensor of whole numbers, got {kind}")
    if extra:
        raise InputError("a read-out token has no relation to the others: set readout to tokens, mean, first or last")
    (b, n), found = tokens.shape, tuple(relation.shape)
    if len(found) != 3 or found[0] not in (1, b) or found[1:] != (n, before + n):
        raise InputError(f"a relation of {b} sequences needs shape [{b}, {n}, {before + n}], got {list(found)}")
    return relation.long()


def _make_positions(
    config: ModelConfig, tokens: Tensor, positions: Tensor | None, document_ids: Tensor | None,
    padding_mask: Tensor | None, cache: Cache | None, whole: str,
) -> Positions:  # fmt: skip
    length, start = tokens.shape[1], 0 if cache is None else cache.length
    if positions is not None:
        values = isinstance(positions, Tensor) and readable(positions)
        sizes = dict(batch=len(tokens), length=length, axes=config.axes)
        return Positions(check_positions(positions, **sizes, values=values, whole=whole))
    if config.axes != 1:
        raise InputError(f"positions on {config.axes} axes have no default: pass positions=[n, {config.axes}]")
    if start and cache is not None and cache.explicit:
        raise InputError("this cache holds tokens at explicit positions: pass positions for the new ones too")
    restart = document_ids if config.document_positions == "restart" else None
    before = cache.real_tokens() if cache is not None else None
    if padding_mask is not None or restart is not None or before is not None:
        real = torch.ones_like(tokens, dtype=torch.bool) if padding_mask is None else padding_mask
        count = count_positions(real, restart, before if before is not None else start)
        return Positions(count, counted=padding_mask is None and before is None)
    if cache is not None and cache.range is not None:
        return Positions(cache.range.values[:, start : start + length], first=start)
    return Positions.range(length, device=tokens.device)


def readable(tensor: Tensor) -> bool:
    """Whether the values of a tensor can be read."""
    return not tensor.is_meta and not torch.compiler.is_compiling()


def _check_tokens(config: ModelConfig, tokens: Tensor, cache: Cache | None, *, values: bool) -> None:
    if not isinstance(tokens, Tensor):
        raise InputError(f"tokens must be a tensor of shape [b, n], got {type(tokens).__name__}")
    if tokens.dim() != 2 or tokens.numel() == 0:
        raise InputError(f"tokens need shape [b, n] with at least one token, got {tuple(tokens.shape)}")
    if tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise InputError(f"tokens must be whole numbers, got {tokens.dtype}")
    if values and readable(tokens):
        low, high = (int(v) for v in tokens.aminmax())
        if low < 0 or high >= config.vocabulary:
            raise InputError(f"tokens must lie in 0 to {config.vocabulary - 1}, found {low if low < 0 else high}")
    if cache is not None:
        cache.check(len(tokens), tokens.shape[1])
        if config.readout == "readout":
            raise InputError("a model with a read-out token cannot decode with a cache")


def _row(name: str, given: Tensor | None, tokens: Tensor) -> Tensor | None:
    if given is None:
        return None
    if not isinstance(given, Tensor):
        raise InputError(f"{name} must be a tensor of shape {list(tokens.shape)}, got {type(given).__name__}")
    if given.dim() != 2 or given.shape[1] != tokens.shape[1] or given.shape[0] not in (1, len(tokens)):
        raise InputError(f"{name} have shape {tuple(given.shape)}, but tokens have {tuple(tokens.shape)}")
    if given.is_floating_point():
        raise InputError(f"{name} must be whole numbers, got {given.dtype}")
    return given.long()


def _check_padding_mask(padding_mask: Tensor | None, tokens: Tensor, *, whole: bool) -> Bool[Tensor, "#b n"] | None:
    """A padding mask as booleans; 0 and 1 are accepted. With a cache, a whole chunk may be padding."""
    boolean = isinstance(padding_mask, Tensor) and padding_mask.dtype == torch.bool
    number = _row("padding_mask", padding_mask.int() if boolean else padding_mask, tokens)  # type: ignore[union-attr]
    if number is None:
        return None
    if readable(number):
        if number.min() < 0 or number.max() > 1:
            raise InputError("padding_mask must be true or 1 for real tokens, and false or 0 for padding")
        if whole and not number.any(dim=1).all():
            raise InputError("padding_mask marks a whole sequence as padding: leave that sequence out")
    return number.bool()
