"""Positions of tokens, and which query attends to which key: all that an encoding knows about a sequence."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from ordinate.core.errors import InputError

LARGEST_POSITION = 2**24  # float32 holds every whole number below this; past it, neighbors share one angle


@dataclass(frozen=True)
class Positions:
    """Positions of the tokens of a batch, with their other inputs. A row that the batch shares has b = 1.

    `first` guarantees positions first, first + 1, ... on one axis, shared by the batch: a relative bias is then
    constant along every diagonal of the score matrix.
    """

    values: Num[Tensor, "#b n axes"]
    segments: Int[Tensor, "#b n"] | None = None
    document_ids: Int[Tensor, "#b n"] | None = None
    first: int | None = None
    tokens: Int[Tensor, "#b n"] | None = None  # token ids; -1 for the read-out token
    padding_mask: Bool[Tensor, "#b n"] | None = None  # False for padding, which no other token attends to
    counted: bool = False  # guarantees that within a document each position is one more than the last

    def __post_init__(self) -> None:
        if self.values.dim() != 3:
            raise InputError(f"Positions hold values of shape [b, n, axes], got {tuple(self.values.shape)}")

    @staticmethod
    def range(length: int, *, start: int = 0, device: torch.device | str | None = None) -> "Positions":
        """Positions start, start + 1, ... of `length` tokens."""
        positions = torch.arange(start, start + length, device=device)
        return Positions(positions.view(1, length, 1), first=start)

    @property
    def length(self) -> int:
        return self.values.shape[1]

    @property
    def axes(self) -> int:
        return self.values.shape[2]

    def slice(self, start: int, stop: int) -> "Positions":
        """The positions of tokens `start` to `stop`, exclusive."""
        part = slice(start, stop)
        rest = (self.segments, self.document_ids, self.tokens, self.padding_mask)
        segments, document_ids, tokens, padding_mask = (row if row is None else row[:, part] for row in rest)
        first = None if self.first is None else self.first + start
        return Positions(self.values[:, part], segments, document_ids, first, tokens, padding_mask, self.counted)

    def with_values(self, values: Num[Tensor, "#b n axes"]) -> "Positions":
        """The same tokens at other positions."""
        return self if values is self.values else replace(self, values=values, first=None, counted=False)

    def has_previous(self, back: int) -> Bool[Tensor, "#b n"] | None:
        """Whether the token `back` steps before each is real and of the same document; None if all of them are.

        Encodings that read neighbors need it, or packed documents and padding would leak.
        """
        real = self.padding_mask
        if real is not None:
            real = torch.nn.functional.pad(real, (back, 0))[:, : self.length]
        if self.document_ids is None or back == 0:
            return real
        before = torch.nn.functional.pad(self.document_ids, (back, 0), value=-1)[:, : self.length]
        same = before == self.document_ids
        return same if real is None else same & real


@dataclass(frozen=True)
class AttentionContext:
    """Queries and the keys they attend to. Query t is key number `start + t`; by default queries are the last keys."""

    q: Positions
    k: Positions
    causal: bool = True
    mask_documents: bool = False  # tokens attend within their own document only
    start: int = -1
    relation: Int[Tensor, "#b q k"] | None = None  # relation type of each query and key, such as a graph distance

    def __post_init__(self) -> None:
        if self.start < 0:
            object.__setattr__(self, "start", self.k.length - self.q.length)
        if self.start < 0 or self.start + self.q.length > self.k.length:
            raise InputError(
                f"{self.q.length} queries do not fit into {self.k.length} keys: every query is one of the keys"
            )

    @staticmethod
    def self_attention(positions: Positions, *, causal: bool = True) -> "AttentionContext":
        """Every token attends to the sequence itself."""
        return AttentionContext(positions, positions, causal=causal)

    @property
    def padding_mask(self) -> Bool[Tensor, "#b k"] | None:
        """False for keys that are padding."""
        return self.k.padding_mask

    @property
    def consecutive(self) -> bool:
        """Whether relative position and visibility depend on j - i alone, so that the bias is a Toeplitz matrix."""
        if self.q.first is None or self.k.first is None or self.padding_mask is not None or self.mask_documents:
            return False
        return self.q.first - self.k.first == self.start

    @property
    def consecutive_in_documents(self) -> bool:
        """Whether that is so for all tokens that see each other: packed documents, positions counted in each."""
        counted = self.k.counted or self.k.first is not None
        return self.mask_documents and self.q is self.k and counted and self.padding_mask is None

    @property
    def all_visible(self) -> bool:
        """Whether every query attends to every key."""
        last_only = self.q.length == 1 and self.start == self.k.length - 1
        return self.padding_mask is None and not self.mask_documents and (not self.causal or last_only)

    def relative_positions(self) -> Num[Tensor, "#b q k"]:
        """Query position minus key position, on the first axis."""
        return self.q.values[:, :, None, 0] - self.k.values[:, None, :, 0]

    def diagonals(self) -> Num[Tensor, " g"]:
        """The relative positions of a consecutive context, one per diagonal: [last query - first key, ..., first query
        - last key], descending, q + k - 1 of them.

        With q queries from `start` on, entry g is start + q - 1 - g, and query i and key j have relative position
        start + i - j, which is entry (q - 1 - i) + j. So row i of the relative position matrix is the window of k
        entries from q - 1 - i on: `diagonals().unfold(0, k, 1).flip(0)`, a view without a copy of size q x k.
        """
        last = self.start + self.q.length - 1
        return torch.arange(last, last - self.q.length - self.k.length + 1, -1, device=self.k.values.device)

    @property
    def visible(self) -> Bool[Tensor, "#b 1 q k"] | None:
        """Which keys each query attends to; None for all. Every token attends to itself, so no row is empty."""
        device = self.k.values.device
        i = torch.arange(self.start, self.start + self.q.length, device=device)[:, None]
        j = torch.arange(self.k.length, device=device)[None, :]
        seen = (j <= i)[None] if self.causal else None
        if self.mask_documents and self.q.document_ids is not None and self.k.document_ids is not None:
            same = self.q.document_ids[:, :, None] == self.k.document_ids[:, None, :]
            seen = same if seen is None else seen & same
        if self.padding_mask is not None:
            kept = self.padding_mask[:, None, :] | (i == j)
            seen = kept if seen is None else seen & kept
        return None if seen is None else seen[:, None]

    def mask(self, bias: Float[Tensor, "#b #h q k"] | None = None) -> Tensor | None:
        """The bias with minus infinity at invisible keys: the `attn_mask` of scaled_dot_product_attention."""
        visible = self.visible
        if bias is None or visible is None:
            return visible if bias is None else bias
        return bias.masked_fill(~visible, float("-inf"))

    def query_block(self, start: int, stop: int) -> "AttentionContext":
        """Queries `start` to `stop`, exclusive, and the keys that any of them attends to."""
        end = self.start + stop if self.causal else self.k.length
        q, k = self.q.slice(start, stop), self.k.slice(0, end)
        relation = None if self.relation is None else self.relation[:, start:stop, :end]
        return replace(self, q=q, k=k, start=self.start + start, relation=relation)

    def query_features(self, features: Float[Tensor, "b k w"]) -> Float[Tensor, "b q w"]:
        """Select the features of the queries from those of all keys."""
        return features[:, self.start : self.start + self.q.length]


def count_real(real: Bool[Tensor, "#b n"], document_ids: Int[Tensor, "#b n"] | None = None) -> Int[Tensor, "#b n"]:
    """The number of real tokens up to each token, counted within its document; `document_ids` number the documents."""
    count = real.long().cumsum(dim=1)
    if document_ids is None:
        return count
    starts = torch.nn.functional.pad(document_ids.diff(dim=1) != 0, (1, 0), value=True)
    return count - torch.where(starts, count - real.long(), 0).cummax(dim=1).values


def check_positions(
    positions: Tensor, *, batch: int, length: int, axes: int, values: bool = True, whole: str = ""
) -> Num[Tensor, "#b n axes"]:
    """Check positions from a caller and reshape them to [#b, n, axes]; `values`: whether values can be read.

    `whole` names an encoding that needs integers from 0 on; without one, positions may be real and negative.
    """
    if not isinstance(positions, Tensor):
        raise InputError(f"positions must be a tensor of numbers, got {type(positions).__name__}")
    given = tuple(positions.shape)
    if axes == 1 and positions.dim() == 1:
        positions = positions.view(1, -1, 1)
    elif axes == 1 and positions.dim() == 2 and positions.shape[1] == length:
        positions = positions.unsqueeze(-1)
    elif positions.dim() == 2:
        positions = positions.unsqueeze(0)
    if positions.dim() != 3 or positions.shape[1] != length or positions.shape[0] not in (1, batch):
        raise InputError(
            f"positions have shape {given}, but {batch} sequences of {length} tokens need"
            f" [{length}, {axes}] or [{batch}, {length}, {axes}]"
        )
    if positions.shape[2] != axes:
        raise InputError(
            f"positions have {positions.shape[2]} axes, but the model reads {axes}: set axes in its configuration"
        )
    if positions.dtype == torch.bool or positions.is_complex():
        raise InputError(f"positions must be numbers, got {positions.dtype}")
    real = positions.is_floating_point()
    if real and values and not positions.isfinite().all():
        raise InputError("positions must be finite, found NaN or infinity")
    if real and whole:
        raise InputError(f"{whole} reads whole positions (int64), got {positions.dtype}: pass positions.long()")
    # float64 stays; what is narrower than float32 cannot hold a thousand positions
    positions = positions if positions.dtype == torch.float64 else positions.float() if real else positions.long()
    if not values:
        return positions
    smallest, largest = (v.item() for v in positions.aminmax())
    if smallest < 0 and whole:
        raise InputError(f"{whole} reads positions from 0 on, found {smallest:g}")
    if max(-smallest, largest) >= LARGEST_POSITION:
        raise InputError(
            f"positions must stay below 2**24 = {LARGEST_POSITION}, where float32 holds every integer, found"
            f" {largest if largest >= LARGEST_POSITION else smallest:.0f}"
        )
    return positions
