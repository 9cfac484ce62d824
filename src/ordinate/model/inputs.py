"""The model's edge: what callers pass is checked here, in one place, and turned into places.

Values cannot be read on the meta device or in compiled code; shapes and types are checked there all the same.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ordinate.core.coverage import counted
from ordinate.core.encoding import Encoding, Reads
from ordinate.core.errors import InputError
from ordinate.core.positions import Positions, check_positions
from ordinate.model.cache import Cache
from ordinate.model.config import ModelConfig


def check_inputs(
    config: ModelConfig,
    parts: Sequence[Encoding],
    tokens: Tensor,
    positions: Tensor | None = None,
    segments: Tensor | None = None,
    document_ids: Tensor | None = None,
    padding_mask: Tensor | None = None,
    cache: Cache | None = None,
) -> Positions:
    """Where these tokens stand, which of them are real, and what else the encodings read of them."""
    _check_tokens(config, tokens, cache)
    reads = {what for part in parts for what in part.reads}
    segments = _row("segments", segments, tokens)
    _told("segments", segments, parts)
    document_ids = _row("document_ids", document_ids, tokens)
    padding_mask = _kept(padding_mask, tokens, whole=cache is None)
    if document_ids is not None:
        if cache is not None:
            raise InputError("decoding with a cache takes one document per row: leave out document_ids")
        if config.readout == "readout" or (config.readout != "tokens" and padding_mask is not None):
            found = "readout=readout" if config.readout == "readout" else f"padding_mask with readout={config.readout}"
            raise InputError(
                f"packed documents are read at their own tokens, got {found}: leave out padding_mask, or set"
                " readout=tokens"
            )
        document_ids = _runs(document_ids.expand(len(tokens), -1))
    whole = next((part.name for part in parts if not part.real), "")
    token_positions = _place(config, tokens, positions, document_ids, padding_mask, cache, whole)
    ids = tokens.long() if reads & {"tokens", "neighbors"} else None
    token_positions = replace(
        token_positions, segments=segments, document_ids=document_ids, tokens=ids, padding_mask=padding_mask
    )
    tightest = parts[0]
    for part in parts:
        tightest = part if part.limit < tightest.limit else tightest
    tightest.check_range(token_positions, more=config.readout == "readout")
    return token_positions


def _told(what: Reads, given: Tensor | None, parts: Sequence[Encoding]) -> None:
    """Refuse what nobody reads, and silence where somebody does."""
    readers = [part.name for part in parts if what in part.reads]
    if given is None and readers:
        raise InputError(f"{readers[0]} reads the {what} of tokens: pass {what}= to the model")
    if given is not None and not readers:
        names = ", ".join(dict.fromkeys(part.name for part in parts))
        were, them = ("was", "it") if what == "relation" else ("were", "them")
        raise InputError(f"{what} {were} given, but no encoding of this model reads {them} ({names}): leave {them} out")


def check_relation(
    parts: Sequence[Encoding], relation: Tensor | None, tokens: Tensor, before: int, *, extra: bool = False
) -> Int[Tensor, "#b q k"] | None:
    """How each token stands to all tokens so far, as given by a caller."""
    _told("relation", relation, parts)
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


def _place(
    config: ModelConfig,
    tokens: Tensor,
    positions: Tensor | None,
    document_ids: Tensor | None,
    padding_mask: Tensor | None,
    cache: Cache | None,
    whole: str,
) -> Positions:
    length, start = tokens.shape[1], 0 if cache is None else cache.length
    if positions is not None:
        values = isinstance(positions, Tensor) and readable(positions)
        sizes = dict(batch=len(tokens), length=length, axes=config.axes)
        return Positions(check_positions(positions, **sizes, values=values, whole=whole))
    if config.axes != 1:
        raise InputError(f"positions on {config.axes} axes cannot be guessed: pass positions=[n, {config.axes}]")
    if start and cache is not None and cache.explicit:
        raise InputError("this cache holds tokens at explicit positions: pass positions for the new ones too")
    restart = document_ids if config.document_positions == "restart" else None
    before = cache.kept() if cache is not None else None
    if padding_mask is not None or restart is not None or before is not None:
        real = torch.ones_like(tokens, dtype=torch.bool) if padding_mask is None else padding_mask
        return Positions(counted(real, restart, before if before is not None else start))
    if cache is not None and cache.range is not None:
        return Positions(cache.range.values[:, start : start + length], first=start)
    return Positions.range(length, device=tokens.device)


def readable(tensor: Tensor) -> bool:
    """Whether the values of a tensor can be looked at."""
    return not tensor.is_meta and not torch.compiler.is_compiling()


def _check_tokens(config: ModelConfig, tokens: Tensor, cache: Cache | None) -> None:
    if not isinstance(tokens, Tensor):
        raise InputError(f"tokens must be a tensor of shape [b, n], got {type(tokens).__name__}")
    if tokens.dim() != 2 or tokens.numel() == 0:
        raise InputError(f"tokens need shape [b, n] with at least one token, got {tuple(tokens.shape)}")
    if tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise InputError(f"tokens must be whole numbers, got {tokens.dtype}")
    if readable(tokens):
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


def _kept(padding_mask: Tensor | None, tokens: Tensor, *, whole: bool) -> Bool[Tensor, "#b n"] | None:
    """A padding mask: boolean, or 0 and 1 as others write it. A part of a sequence may be padding throughout."""
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


def _runs(document_ids: Int[Tensor, "b n"]) -> Int[Tensor, "b n"]:
    """Documents numbered from left to right: an id that comes again later is another document."""
    change = torch.zeros_like(document_ids)
    change[:, 1:] = document_ids[:, 1:] != document_ids[:, :-1]
    return change.cumsum(dim=1)
