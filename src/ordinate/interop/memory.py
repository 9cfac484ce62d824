"""What encodings must know of earlier tokens, kept in transformers' own cache.

It occupies further layers after those of the model, so beam search reorders it and cropping crops it as well.
"""

from typing import Any

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.interop.installed import transformers

_UNKNOWN = -1  # a token or a segment that was not passed


class Memory:
    """A cache of a model with so many layers, seen from outside. `seen` tokens are in it."""

    def __init__(self, cache: Any, layers: int) -> None:
        hf = transformers()
        plain = isinstance(cache, hf.DynamicCache)
        if not plain or any(type(layer) is not hf.cache_utils.DynamicLayer for layer in cache.layers):
            raise InputError(
                f"an attached model decodes with a plain DynamicCache, got {cache}: leave out cache_implementation"
            )
        self.cache, self.layers, self.seen = cache, layers, int(cache.get_seq_length())

    def extend(
        self,
        positions: Int[Tensor, "#b n"],
        tokens: Int[Tensor, "b n"] | None,
        segments: Int[Tensor, "b n"] | None,
        b: int,
    ) -> tuple[Int[Tensor, "b k"], Int[Tensor, "b k"] | None, Int[Tensor, "b k"] | None]:
        """Add new tokens; returns positions, token ids and segments of all tokens so far."""
        unknown = torch.full_like(positions, _UNKNOWN)
        rows = [(unknown if row is None else row).expand(b, -1) for row in (positions, tokens, segments)]
        all_rows = self.append(self.layers, torch.stack(rows, dim=-1))
        known = [None if row is None else all_rows[..., i] for i, row in enumerate((positions, tokens, segments))]
        assert known[0] is not None
        return known[0], known[1], known[2]

    def features(self, layer: int) -> Float[Tensor, "b k w"] | None:
        """What an encoding read from the input of a layer earlier."""
        held = self._held(self.layers + 1 + layer)
        return None if held is None or self.seen == 0 else held

    def append(self, number: int, rows: Num[Tensor, "b n w"]) -> Num[Tensor, "b k w"]:
        """Put rows behind those held before; all of them."""
        held = self._held(number)
        found = 0 if held is None else held.shape[1]
        if found < self.seen:
            raise InputError(
                f"this cache holds {self.seen} tokens that an attached model did not write: begin with an empty cache"
            )
        return self.cache.layers[number].update(rows[:, None], rows[:, None, :, :0])[0][:, 0]  # type: ignore[no-any-return]

    def _held(self, number: int) -> Tensor | None:
        layers = self.cache.layers
        while len(layers) <= number:
            layers.append(transformers().cache_utils.DynamicLayer())
        held = layers[number]
        if held.get_seq_length() > self.seen:  # of a pass that did not reach its end
            held.crop(self.seen - held.get_seq_length())
        return held.keys[:, 0] if held.get_seq_length() else None
