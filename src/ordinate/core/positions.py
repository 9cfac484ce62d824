"""Positions of tokens, and which query may attend to which key: all that an encoding knows about a sequence."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from ordinate.core.errors import InputError

LARGEST_POSITION = 2**24  # float32 holds every whole number below this; past it, neighbors share one angle


@dataclass(frozen=True)
class Positions:
    """Positions of the tokens of a batch, and what else is known of those tokens. A shared row has b = 1.

    `first` promises that the positions are shared by the batch, lie on one axis, begin there and rise by exactly one:
    a bias by distance is then the same along every diagonal.
    """

    values: Num[Tensor, "#b n axes"]
    segments: Int[Tensor, "#b n"] | None = None
    document_ids: Int[Tensor, "#b n"] | None = None
    first: int | None = None
    tokens: Int[Tensor, "#b n"] | None = None  # their ids; -1 for a token that has none
    padding_mask: Bool[Tensor, "#b n"] | None = None  # False marks padding, which nobody sees

    def __post_init__(self) -> None:
        if self.values.dim() != 3:
            raise InputError(f"Positions hold values of shape [b, n, axes], got {tuple(self.values.shape)}")

    @staticmethod
    def range(length: int, *, start: int = 0, device: torch.device | str | None = None) -> "Positions":
        """A text of `length` tokens at `start`, `start + 1`, and so on."""
        positions = torch.arange(start, start + length, device=device)
        return Positions(positions.view(1, length, 1), first=start)

    @property
    def length(self) -> int:
        return self.values.shape[1]

    @property
    def axes(self) -> int:
        return self.values.shape[2]

    def rows(self, start: int, stop: int) -> "Positions":
        """The tokens `start` to `stop` alone."""
        part = slice(start, stop)
        rest = (self.segments, self.document_ids, self.tokens, self.padding_mask)
        segments, document_ids, tokens, padding_mask = (row if row is None else row[:, part] for row in rest)
        first = None if self.first is None else self.first + start
        return Positions(self.values[:, part], segments, document_ids, first, tokens, padding_mask)

    def with_values(self, values: Num[Tensor, "#b n axes"]) -> "Positions":
        """The same tokens under other positions."""
        return self if values is self.values else replace(self, values=values, first=None)

    def follows(self, back: int) -> Bool[Tensor, "#b n"] | None:
        """Whether the token `back` places before each is one of its own: real, and of the same document. None: all
        that exist. What looks at neighbors must ask, or packed documents and padding would leak."""
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
    """Queries against keys. Query number t is token number `start + t` among the keys; by default the last ones."""

    q: Positions
    k: Positions
    causal: bool = True
    separate: bool = False  # documents do not see each other
    start: int = -1
    relation: Int[Tensor, "#b q k"] | None = None  # how each query stands to each key, where positions cannot say it

    def __post_init__(self) -> None:
        if self.start < 0:
            object.__setattr__(self, "start", self.k.length - self.q.length)
        if self.start < 0 or self.start + self.q.length > self.k.length:
            raise InputError(
                f"{self.q.length} queries do not fit into {self.k.length} keys: queries are among the keys"
            )

    @staticmethod
    def of(positions: Positions, *, causal: bool = True) -> "AttentionContext":
        """A sequence against itself."""
        return AttentionContext(positions, positions, causal=causal)

    @property
    def padding_mask(self) -> Bool[Tensor, "#b k"] | None:
        """False for keys that are padding."""
        return self.k.padding_mask

    @property
    def consecutive(self) -> bool:
        """Whether gap and visibility depend on the distance of two tokens alone."""
        if self.q.first is None or self.k.first is None or self.padding_mask is not None or self.separate:
            return False
        return self.q.first - self.k.first == self.start

    @property
    def all_visible(self) -> bool:
        """Whether every query sees every key."""
        last_only = self.q.length == 1 and self.start == self.k.length - 1
        return self.padding_mask is None and not self.separate and (not self.causal or last_only)

    def relative_positions(self) -> Num[Tensor, "#b q k"]:
        """Query position minus key position, on the first axis."""
        return self.q.values[:, :, None, 0] - self.k.values[:, None, :, 0]

    @property
    def visible(self) -> Bool[Tensor, "#b 1 q k"] | None:
        """Which key each query may see; None when it sees all. Every token sees itself, so no row is empty."""
        device = self.k.values.device
        i = torch.arange(self.start, self.start + self.q.length, device=device)[:, None]
        j = torch.arange(self.k.length, device=device)[None, :]
        seen = (j <= i)[None] if self.causal else None
        if self.separate and self.q.document_ids is not None and self.k.document_ids is not None:
            same = self.q.document_ids[:, :, None] == self.k.document_ids[:, None, :]
            seen = same if seen is None else seen & same
        if self.padding_mask is not None:
            kept = self.padding_mask[:, None, :] | (i == j)
            seen = kept if seen is None else seen & kept
        return None if seen is None else seen[:, None]

    def mask(self, bias: Float[Tensor, "#b #h q k"] | None = None) -> Tensor | None:
        """A bias with minus infinity wherever a key is not visible: the `attn_mask` of fused attention."""
        visible = self.visible
        if bias is None or visible is None:
            return visible if bias is None else bias
        return bias.masked_fill(~visible, float("-inf"))

    def rows(self, start: int, stop: int) -> "AttentionContext":
        """The queries `start` to `stop` against the keys that any of them can see."""
        end = self.start + stop if self.causal else self.k.length
        relation = None if self.relation is None else self.relation[:, start:stop, :end]
        return AttentionContext(
            self.q.rows(start, stop), self.k.rows(0, end), self.causal, self.separate, self.start + start, relation
        )

    def queries(self, features: Float[Tensor, "b k w"]) -> Float[Tensor, "b q w"]:
        """The features of the queries, among those of all keys."""
        return features[:, self.start : self.start + self.q.length]


def check_positions(
    positions: Tensor, *, batch: int, length: int, axes: int, values: bool = True, whole: str = ""
) -> Num[Tensor, "#b n axes"]:
    """Positions as given by a caller, checked and brought to [#b, n, axes]; `values` says whether they can be read.

    `whole` names an encoding that reads whole numbers from 0 on alone; without one, they may be real and negative.
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
            f"positions must stay below 2**24 = {LARGEST_POSITION}, where float32 angles end, found"
            f" {largest if largest >= LARGEST_POSITION else smallest:.0f}"
        )
    return positions
