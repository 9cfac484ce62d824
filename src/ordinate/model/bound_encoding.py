"""An encoding at work on one forward pass: what depends on positions alone is computed once and shared by layers."""

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Features, Prepared, relative_line
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext


class BoundEncoding:
    """One encoding bound to one pair of places."""

    def __init__(self, encoding: Encoding, context: AttentionContext, *, placed: bool = False) -> None:
        """`placed`: the pair is this encoding's own already, checked and relabeled."""
        self.encoding = encoding
        if not placed:
            _check(encoding, context)
        own = context if placed else encoding.placed(context)
        # Without a score term, attention needs to know who sees whom, not which positions the encoding made of it.
        self.context = context if encoding.biasless and not encoding.content else own
        self.queries, self.keys = own.q, own.k
        self._states: dict[str, Prepared] = {}
        self._mask: Tensor | None = None
        self._added: Tensor | None = None
        self._line: Tensor | None = None
        self._known = False

    @property
    def own_state(self) -> Prepared:
        """What `rotate` needs for the tokens of this pass: for queries, and for keys that are turned once."""
        if "own" not in self._states:
            self._states["own"] = self.encoding.prepare(self.queries)
        return self._states["own"]

    @property
    def key_state(self) -> Prepared:
        """What `rotate` needs for all keys; asked for only when keys are kept unrotated."""
        if self.keys is self.queries:
            return self.own_state
        if "keys" not in self._states:
            self._states["keys"] = self.encoding.prepare(self.keys)
        return self._states["keys"]

    def features(self, x: Float[Tensor, "b n d"], before: Float[Tensor, "b m w"] | None = None) -> Features | None:
        """What the encoding reads from a layer's input, or None if it reads nothing there."""
        return self.encoding.features(x, self.queries, before) if self.encoding.feature_width else None

    def rotate(self, q: Tensor, k: Tensor, features: Features | None = None) -> tuple[Tensor, Tensor]:
        """Queries and keys as attention wants them; `features` are those of all keys."""
        of_queries = None if features is None else self.context.queries(features)
        turned = self.encoding.rotate(q, self.own_state, "q", of_queries)
        return turned, self.encoding.rotate(k, self.key_state, "k", features)

    def mask(self) -> Tensor | None:
        """Bias and visibility in one dense table: [#b, #h, q, k], boolean if there is no bias, or None."""
        if not self._known:
            bias = self.encoding.bias(self.context)
            self._mask = bias if self.context.all_visible else self.context.mask(bias)
            self._known = True
        return self._mask

    def added(self) -> Float[Tensor, "#b #h q k"] | None:
        """The same as numbers to add to scores: minus infinity where nothing is seen."""
        mask = self.mask()
        if mask is None or mask.is_floating_point():
            return mask
        if self._added is None:
            zeros = torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
            self._added = zeros.masked_fill_(~mask, float("-inf"))
        return self._added

    def line(self) -> Float[Tensor, "#h g"]:
        """Bias and visibility of a consecutive pair as one number per head and gap; see `relative_line`."""
        if self._line is None:
            gaps = relative_line(self.context)
            bias = self.encoding.relative_bias(gaps)
            line = torch.zeros(1, len(gaps), dtype=torch.float32, device=gaps.device) if bias is None else bias
            self._line = line.masked_fill(gaps < 0, float("-inf")) if self.context.causal else line
        return self._line

    def toeplitz(self) -> bool:
        """Whether `line` tells all there is to know."""
        return self.context.consecutive and self.encoding.relative_only() and not self.encoding.content

    def rows(self, start: int, stop: int) -> "BoundEncoding":
        """The same encoding for a block of queries. Rotation has happened by then."""
        return BoundEncoding(self.encoding, self.context.rows(start, stop), placed=True)


def _check(encoding: Encoding, context: AttentionContext) -> None:
    reads = not encoding.biasless or encoding.content or encoding.causal_only
    if reads and encoding.shape.causal != context.causal:
        made, found = ("causal" if causal else "bidirectional" for causal in (encoding.shape.causal, context.causal))
        raise InputError(f"{encoding.name} was made for {made} attention, but the pair is {found}")
    told = {"segments": context.q.segments, "tokens": context.q.tokens, "relation": context.relation}
    for what, given in told.items():
        if what in encoding.reads and given is None:
            where = "it into the pair" if what == "relation" else "them into the places"
            raise InputError(f"{encoding.name} reads {what}: pass {what}= to the model, or put {where}")
    if context.k.axes not in encoding.axes:
        can = " or ".join(map(str, encoding.axes))
        raise InputError(f"{encoding.name} reads positions with {can} axes, but these have {context.k.axes}")
    encoding.check_range(context.k)
