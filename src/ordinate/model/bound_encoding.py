"""An encoding in one forward pass: what depends on positions alone is computed once and shared by the layers."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Features, Prepared
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext


class BoundEncoding:
    """One encoding with the queries and keys of one forward pass."""

    def __init__(self, encoding: Encoding, context: AttentionContext, *, relabeled: bool = False) -> None:
        """`relabeled`: the context has been checked and relabeled by this encoding already."""
        self.encoding = encoding
        if not relabeled:
            _check(encoding, context)
        own = context if relabeled else encoding.relabel_context(context)
        # Without a bias, attention needs the mask alone, not the relabeled positions: it keeps the fast causal kernel.
        self.context = own if encoding.has_bias or encoding.needs_scores else context
        self.queries, self.keys = own.q, own.k
        self._states: dict[str, Prepared] = {}
        self._mask: Tensor | None = None
        self._additive_mask: Tensor | None = None
        self._diagonal_bias: Tensor | None = None
        self._mask_known = False
        self.block_mask: Any = None  # of FlexAttention, made by the first layer

    @property
    def own_state(self) -> Prepared:
        """The state of `rotate` for the tokens of this pass: queries, and keys that are rotated before caching."""
        if "own" not in self._states:
            self._states["own"] = self.encoding.prepare(self.queries)
        return self._states["own"]

    @property
    def key_state(self) -> Prepared:
        """The state of `rotate` for all keys; used only if the cache holds unrotated keys."""
        if self.keys is self.queries:
            return self.own_state
        if "keys" not in self._states:
            self._states["keys"] = self.encoding.prepare(self.keys)
        return self._states["keys"]

    def features(self, x: Float[Tensor, "b n d"], before: Float[Tensor, "b m w"] | None = None) -> Features | None:
        """The features that the encoding computes from a layer's input, or None if it has none."""
        return self.encoding.features(x, self.queries, before) if self.encoding.feature_width else None

    def rotate(self, q: Tensor, k: Tensor, features: Features | None = None) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys for `attend`; `features` are those of all keys."""
        of_queries = None if features is None else self.context.query_features(features)
        rotated_q = self.encoding.rotate(q, self.own_state, "q", of_queries)
        return rotated_q, self.encoding.rotate(k, self.key_state, "k", features)

    def mask(self) -> Tensor | None:
        """Bias and visibility as one `attn_mask` [#b, #h, q, k]: boolean without a bias; None if nothing is masked."""
        if not self._mask_known:
            bias = self.encoding.bias(self.context)
            self._mask = bias if self.context.all_visible else self.context.mask(bias)
            self._mask_known = True
        return self._mask

    def additive_mask(self) -> Float[Tensor, "#b #h q k"] | None:
        """The same as numbers to add to scores, minus infinity at masked keys."""
        mask = self.mask()
        if mask is None or mask.is_floating_point():
            return mask
        if self._additive_mask is None:
            zeros = torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
            self._additive_mask = zeros.masked_fill_(~mask, float("-inf"))
        return self._additive_mask

    def diagonal_bias(self) -> Float[Tensor, "#h g"]:
        """Bias and visibility of a consecutive context, one number per head and diagonal; see `diagonals`."""
        if self._diagonal_bias is None:
            relative = self.context.diagonals()
            bias = self.encoding.relative_bias(relative)
            values = (
                torch.zeros(1, len(relative), dtype=torch.float32, device=relative.device) if bias is None else bias
            )
            self._diagonal_bias = values.masked_fill(relative < 0, float("-inf")) if self.context.causal else values
        return self._diagonal_bias

    def is_toeplitz(self) -> bool:
        """Whether `diagonal_bias` describes bias and mask completely."""
        return self.context.consecutive and self.encoding.relative_only() and not self.encoding.needs_scores

    def has_diagonal_bias(self) -> bool:
        """Whether `diagonal_bias` describes the bias of all visible pairs; the mask may hide documents beside."""
        consecutive = self.context.consecutive or self.context.consecutive_in_documents
        return consecutive and self.encoding.relative_only() and not self.encoding.needs_scores

    def query_block(self, start: int, stop: int) -> "BoundEncoding":
        """The same encoding for a block of queries, which are rotated already."""
        return BoundEncoding(self.encoding, self.context.query_block(start, stop), relabeled=True)


def _check(encoding: Encoding, context: AttentionContext) -> None:
    depends_on_direction = encoding.has_bias or encoding.needs_scores or encoding.causal_only
    if depends_on_direction and encoding.shape.causal != context.causal:
        made, found = ("causal" if causal else "bidirectional" for causal in (encoding.shape.causal, context.causal))
        raise InputError(f"{encoding.name} was created for {made} attention, but the context is {found}")
    inputs = {"segments": context.q.segments, "tokens": context.q.tokens, "relation": context.relation}
    for what, given in inputs.items():
        if what in encoding.extra_inputs and given is None:
            where = "it to the AttentionContext" if what == "relation" else "them to the Positions"
            raise InputError(f"{encoding.name} reads {what}: pass {what}= to the model, or add {where}")
    if context.k.axes not in encoding.axes:
        can = " or ".join(map(str, encoding.axes))
        raise InputError(f"{encoding.name} reads positions with {can} axes, but these have {context.k.axes}")
    encoding.check_range(context.k)
