"""The model's edge: what callers pass is checked here, in one place, and turned into places.

Values cannot be read on the meta device or in compiled code; shapes and types are checked there all the same.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.place import Place, check_positions
from ordinate.core.positions import counted
from ordinate.model.cache import Cache
from ordinate.model.config import ModelConfig


def arrive(
    config: ModelConfig,
    parts: Sequence[Encoding],
    tokens: Tensor,
    positions: Tensor | None = None,
    segments: Tensor | None = None,
    documents: Tensor | None = None,
    keep: Tensor | None = None,
    cache: Cache | None = None,
) -> tuple[Place, Bool[Tensor, "#b n"] | None]:
    """Where these tokens stand, and which of them are real."""
    _check_tokens(config, tokens, cache)
    segments = _row("segments", segments, tokens)
    documents = _row("documents", documents, tokens)
    keep = _kept(keep, tokens, whole=cache is None)
    if documents is not None:
        if cache is not None:
            raise InputError("decoding with a cache takes one document per row: leave out documents")
        if config.readout == "readout" or (config.readout != "tokens" and keep is not None):
            found = "readout=readout" if config.readout == "readout" else f"keep with readout={config.readout}"
            raise InputError(
                f"packed documents are read at their own tokens, got {found}: leave out keep, or set readout=tokens"
            )
        documents = _runs(documents.expand(len(tokens), -1))
    place = _place(config, tokens, positions, segments, documents, keep, cache)
    _check_limit(parts, place, extra=config.readout == "readout")
    return place, keep


def _place(
    config: ModelConfig,
    tokens: Tensor,
    positions: Tensor | None,
    segments: Tensor | None,
    documents: Tensor | None,
    keep: Tensor | None,
    cache: Cache | None,
) -> Place:
    length, start = tokens.shape[1], 0 if cache is None else cache.length
    if positions is not None:
        ready = check_positions(
            positions, batch=len(tokens), length=length, axes=config.axes, values=readable(positions)
        )
        return Place(ready, segments, documents)
    if config.axes != 1:
        raise InputError(f"positions on {config.axes} axes cannot be guessed: pass positions=[n, {config.axes}]")
    if start and cache is not None and cache.explicit:
        raise InputError("this cache holds tokens at explicit positions: pass positions for the new ones too")
    restart = documents if config.document_positions == "restart" else None
    before = cache.kept() if cache is not None else None
    if keep is not None or restart is not None or before is not None:
        real = torch.ones_like(tokens, dtype=torch.bool) if keep is None else keep
        return Place(counted(real, restart, before if before is not None else start), segments, documents)
    if cache is not None and cache.range is not None:
        return Place(cache.range.positions[:, start : start + length], segments, documents, first=start)
    return Place(Place.range(length, device=tokens.device).positions, segments, documents, first=0)


def readable(tensor: Tensor) -> bool:
    """Whether the values of a tensor can be looked at."""
    return not tensor.is_meta and not torch.compiler.is_compiling()


def _check_tokens(config: ModelConfig, tokens: Tensor, cache: Cache | None) -> None:
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
    if given.dim() != 2 or given.shape[1] != tokens.shape[1] or given.shape[0] not in (1, len(tokens)):
        raise InputError(f"{name} have shape {tuple(given.shape)}, but tokens have {tuple(tokens.shape)}")
    if given.is_floating_point():
        raise InputError(f"{name} must be whole numbers, got {given.dtype}")
    return given.long()


def _kept(keep: Tensor | None, tokens: Tensor, *, whole: bool) -> Bool[Tensor, "#b n"] | None:
    """A padding mask: boolean, or 0 and 1 as others write it. A part of a sequence may be padding throughout."""
    number = _row("keep", keep.int() if keep is not None and keep.dtype == torch.bool else keep, tokens)
    if number is None:
        return None
    if readable(number):
        if number.min() < 0 or number.max() > 1:
            raise InputError("keep must be true or 1 for real tokens, and false or 0 for padding")
        if whole and not number.any(dim=1).all():
            raise InputError("keep marks a whole sequence as padding: leave that sequence out")
    return number.bool()


def _runs(documents: Int[Tensor, "b n"]) -> Int[Tensor, "b n"]:
    """Documents numbered from left to right: an id that comes again later is another document."""
    change = torch.zeros_like(documents)
    change[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return change.cumsum(dim=1)


def _check_limit(parts: Sequence[Encoding], place: Place, *, extra: bool) -> None:
    tightest = parts[0]
    for part in parts:
        tightest = part if part.limit < tightest.limit else tightest
    if place.first is not None:
        largest = place.first + place.length - 1
    elif readable(place.positions):
        largest = int(place.positions.max())
    else:
        return
    if largest + extra >= tightest.limit:
        why = " (one more than the last token, for the read-out)" if extra else ""
        raise InputError(
            f"position {largest + extra}{why} is out of range: {tightest.name} {tightest.past} from position"
            f" {tightest.limit} on (trained length {tightest.shape.length})"
        )
