"""An encoding at work on one forward pass: what depends on positions alone is computed once and shared by layers."""

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Prepared, gap_line
from ordinate.core.errors import InputError
from ordinate.core.place import Pair


class Bound:
    """One encoding bound to one pair of places."""

    def __init__(self, encoding: Encoding, pair: Pair) -> None:
        self.encoding = encoding
        reads = not encoding.biasless or encoding.content or encoding.causal_only
        if reads and encoding.shape.causal != pair.causal:
            made, found = ("causal" if causal else "bidirectional" for causal in (encoding.shape.causal, pair.causal))
            raise InputError(f"{encoding.name} was made for {made} attention, but the pair is {found}")
        placed = encoding.placed(pair)
        # Without a score term, attention needs to know who sees whom, not which positions the encoding made of it.
        self.pair = pair if encoding.biasless and not encoding.content else placed
        self.keys = placed.k
        self.own_state: Prepared = encoding.prepare(placed.q)
        self._key_state: Prepared = self.own_state if placed.k is placed.q else None
        self._mask: Tensor | None = None
        self._added: Tensor | None = None
        self._line: Tensor | None = None
        self._known = False

    @property
    def key_state(self) -> Prepared:
        """What `rotate` needs for all keys; asked for only when keys are kept unrotated."""
        if self._key_state is None:
            self._key_state = self.encoding.prepare(self.keys)
        return self._key_state

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys as attention wants them."""
        return self.encoding.rotate(q, self.own_state, "q"), self.encoding.rotate(k, self.key_state, "k")

    def mask(self) -> Tensor | None:
        """Bias and visibility in one dense table: [#b, #h, q, k], boolean if there is no bias, or None."""
        if not self._known:
            bias = self.encoding.bias(self.pair)
            self._mask = bias if self.pair.all_visible else self.pair.mask(bias)
            self._known = True
        return self._mask

    def added(self) -> Float[Tensor, "#b #h q k"] | None:
        """The same as numbers to add to scores: minus infinity where nothing is seen."""
        mask = self.mask()
        if mask is None or mask.is_floating_point():
            return mask
        if self._added is None:
            self._added = torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, float("-inf"))
        return self._added

    def line(self) -> Float[Tensor, "#h g"]:
        """Bias and visibility of a consecutive pair as one number per head and gap; see `gap_line`."""
        if self._line is None:
            gaps = gap_line(self.pair)
            bias = self.encoding.gap_bias(gaps)
            line = torch.zeros(1, len(gaps), device=gaps.device) if bias is None else bias
            self._line = line.masked_fill(gaps < 0, float("-inf")) if self.pair.causal else line
        return self._line

    def by_gap(self) -> bool:
        """Whether `line` tells all there is to know."""
        return self.pair.consecutive and self.encoding.gap_only() and not self.encoding.content

    def rows(self, start: int, stop: int) -> "Bound":
        """The same encoding for a block of queries. Rotation has happened by then, so no state is needed."""
        part = object.__new__(Bound)
        part.encoding, part.pair, part.keys = self.encoding, self.pair.rows(start, stop), self.keys
        part.own_state = part._key_state = part._mask = part._added = part._line = None
        part._known = False
        return part
