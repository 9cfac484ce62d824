"""A transformer that takes any encoding."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate import encodings as registry
from ordinate.core.combine import combine
from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.place import Pair, Place, check_positions
from ordinate.core.positions import past_padding, within_documents
from ordinate.core.seeds import generator
from ordinate.model.block import Block, make_norm
from ordinate.model.bound import Bound
from ordinate.model.cache import Cache
from ordinate.model.config import ModelConfig


class Transformer(nn.Module):
    """Tokens to logits. `encodings` may be given as objects, one per layer; otherwise the configuration names them."""

    def __init__(self, config: ModelConfig, encodings: Sequence[Encoding] | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        device = torch.get_default_device()
        with torch.device("meta"):  # shapes first, so that no weight is drawn twice
            self.embedding = nn.Embedding(config.vocabulary, config.dim)
            self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
            self.norm = make_norm(config) if config.norm_place == "pre" else None
            self.head = None if config.tied else nn.Linear(config.dim, config.outputs, bias=False)
            self.readout = nn.Parameter(torch.empty(config.dim)) if config.readout == "readout" else None
        if device.type != "meta":
            self.to_empty(device=device)
        self.per_layer = list(encodings) if encodings is not None else make_encodings(config)
        check_encodings(config, self.per_layer)
        self.encodings = nn.ModuleList(distinct(self.per_layer))
        self.embedding_parts = [p for p in distinct(self.per_layer) if type(p).embed is not Encoding.embed]
        if device.type != "meta":
            self.reset(seed, encodings=encodings is None)

    def materialise(self, device: torch.device | str, seed: int = 0) -> "Transformer":
        """Give a model that was built on the meta device its weights."""
        self.to_empty(device=device)
        self.reset(seed)
        return self

    @torch.no_grad()
    def reset(self, seed: int, *, encodings: bool = True) -> None:
        """Draw all weights anew, by name: parameters of equal name and shape start equal whatever the encoding."""
        small = self.config.init_std / (2 * self.config.layers) ** 0.5  # what joins the residual stream, as GPT-2
        for name, weight in self.named_parameters():
            if name.startswith("encodings."):
                continue
            if name.endswith("norm.weight"):
                weight.fill_(1.0)
            elif name.endswith("bias"):
                weight.zero_()
            else:
                std = small if name.endswith(("output.weight", "narrow.weight")) else self.config.init_std
                weight.normal_(0.0, std, generator=generator(seed, "init", name, device=weight.device))
        if encodings:
            for index, part in enumerate(distinct(self.per_layer)):
                part.reset(generator(seed, "init", "encoding", index, type(part).__name__))

    def cache(self, batch: int, capacity: int) -> Cache:
        """An empty cache for decoding."""
        c, weight = self.config, self.embedding.weight
        if not c.causal:
            raise InputError("only a causal model can decode with a cache: this one is bidirectional")
        return Cache(
            layers=c.layers, batch=batch, heads=c.key_heads, capacity=capacity, width=c.head_width, axes=c.axes,
            dtype=weight.dtype, device=weight.device,
        )  # fmt: skip

    def forward(
        self,
        tokens: Int[Tensor, "b n"],
        *,
        positions: Tensor | None = None,
        segments: Int[Tensor, "#b n"] | None = None,
        documents: Int[Tensor, "#b n"] | None = None,
        keep: Bool[Tensor, "#b n"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "b *n outputs"]:
        """Logits for every token, or for the sequence if the read-out is a classification.

        positions: [n], [b, n] or [b, n, axes]; by default 0, 1, 2 ..., restarting with each document if the
        configuration says so, and counting real tokens alone if there is padding (keep False).
        """
        place = self.place(tokens, positions, segments, documents, keep, cache)
        x = F.embedding(tokens, self.embedding.weight)
        if self.readout is not None:
            x, place, keep = self._append_readout(x, place, keep)
        pair = self.pair(place, keep, cache)
        x = self.run(x, pair, cache)
        if cache is not None:
            cache.length += place.length
        return self._answer(x, keep)

    def run(self, x: Float[Tensor, "b n d"], pair: Pair, cache: Cache | None = None) -> Float[Tensor, "b n d"]:
        """The blocks, from token embeddings to the last hidden states."""
        x, bounds = self.begin(x, pair)
        if self.training and self.config.dropout > 0:
            x = F.dropout(x, self.config.dropout)
        for block, bound in zip(self.blocks, bounds, strict=True):
            x = block(x, bound, cache)
        return x if self.norm is None else self.norm(x)

    def begin(self, x: Float[Tensor, "b n d"], pair: Pair) -> tuple[Float[Tensor, "b n d"], list[Bound]]:
        """Embeddings as the encodings change them, and each layer's encoding bound to these places."""
        for part in self.embedding_parts:
            x = part.embed(x, pair.q.relabelled(part.relabel(pair.q.positions)))
        made: dict[int, Bound] = {}
        for encoding in self.per_layer:
            if id(encoding) not in made:
                made[id(encoding)] = Bound(encoding, pair)
        return x, [made[id(encoding)] for encoding in self.per_layer]

    def place(
        self,
        tokens: Tensor,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        documents: Tensor | None = None,
        keep: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Place:
        """Where these tokens stand, checked. In compiled code explicit positions go unchecked."""
        batch, length = tokens.shape
        start = 0 if cache is None else cache.length
        if cache is not None:
            cache.check(length)
            if documents is not None or self.readout is not None:
                raise InputError("decoding with a cache takes one document per row and no read-out token")
        compiling = torch.compiler.is_compiling()
        if positions is not None:
            if not compiling:
                positions = check_positions(positions, batch=batch, length=length, axes=self.config.axes)
                self._check_limit(int(positions.max()) if positions.numel() else 0)
            return Place(positions.view(-1, length, self.config.axes), segments, documents)
        if self.config.axes != 1:
            raise InputError(
                f"positions on {self.config.axes} axes cannot be guessed: pass positions=[n, {self.config.axes}]"
            )
        if documents is not None and self.config.document_positions == "restart":
            return Place(within_documents(documents), segments, documents)
        if keep is not None:
            positions = past_padding(keep) if start == 0 else self._after_padding(keep, cache)
            return Place(positions, segments, documents)
        if cache is not None and cache.keep is not None:
            return Place(self._after_padding(torch.ones_like(tokens), cache), segments, documents)
        if not compiling:
            self._check_limit(start + length - 1)
        if cache is not None and cache.range is not None:
            return (
                cache.range.rows(start, start + length)
                if segments is None
                else Place(cache.range.positions[:, start : start + length], segments, None, True)
            )
        plain = Place.range(length, start=start, device=tokens.device)
        return Place(plain.positions, segments, documents, consecutive=True)

    def _after_padding(self, keep: Tensor, cache: Cache | None) -> Tensor:
        assert cache is not None and cache.place is not None
        last = cache.place.positions[:, -1:, :]
        return last + keep.long().cumsum(dim=1).unsqueeze(-1)

    def _check_limit(self, largest: int) -> None:
        for part in distinct(self.per_layer):
            if largest >= part.limit:
                name = type(part).__module__.rpartition(".")[2]
                raise InputError(
                    f"position {largest} is out of range: {name} {part.past} from position {part.limit} on"
                    f" (trained length {part.shape.length})"
                )

    def pair(self, place: Place, keep: Tensor | None, cache: Cache | None) -> Pair:
        """These tokens against all they could see."""
        config = self.config
        separate = place.documents is not None and config.document_mask
        if cache is None:
            return Pair(place, place, config.causal, keep, separate)
        keys, kept = cache.extend(place, keep)
        return Pair(place, keys, config.causal, kept, separate, start=cache.length)

    def _append_readout(self, x: Tensor, place: Place, keep: Tensor | None) -> tuple[Tensor, Place, Tensor | None]:
        """One more token, after the last: a trained vector that gathers the answer."""
        assert self.readout is not None
        x = torch.cat((x, self.readout.expand(len(x), 1, -1)), dim=1)
        after = place.positions.amax(dim=1, keepdim=True) + 1
        parts = [p if p is None else torch.cat((p, p[:, -1:]), dim=1) for p in (place.segments, place.documents)]
        place = Place(torch.cat((place.positions, after), dim=1), parts[0], parts[1], place.consecutive)
        if keep is not None:
            keep = torch.cat((keep, torch.ones_like(keep[:, :1])), dim=1)
        return x, place, keep

    def _answer(self, x: Tensor, keep: Tensor | None) -> Tensor:
        match self.config.readout:
            case "mean":
                x = (
                    x.mean(dim=1)
                    if keep is None
                    else (x * keep.unsqueeze(-1)).sum(dim=1) / keep.sum(dim=1, keepdim=True)
                )
            case "first":
                x = x[:, 0] if keep is None else x[torch.arange(len(x)), keep.int().argmax(dim=1)]
            case "last" | "readout":
                x = (
                    x[:, -1]
                    if keep is None
                    else x[torch.arange(len(x)), keep.shape[1] - 1 - keep.flip(1).int().argmax(dim=1)]
                )
        return F.linear(x, self.embedding.weight) if self.head is None else self.head(x)


def make_encodings(config: ModelConfig) -> list[Encoding]:
    """The encodings that a configuration names, one per layer. Layers share objects unless an encoding is per layer."""
    shared: dict[object, Encoding] = {}
    result = []
    for choices in config.choices():
        parts = []
        for choice in choices:
            if choice not in shared:
                shared[choice] = _create(config, choice.name, dict(choice.parameters))
            part = shared[choice]
            parts.append(part)
            if part.per_layer:
                del shared[choice]
        key = choices if not any(p.per_layer for p in parts) else None
        whole = shared.get(key) if key is not None else None
        whole = whole or combine(*parts)
        if key is not None:
            shared[key] = whole
        result.append(whole)
    return result


def _create(config: ModelConfig, name: str, parameters: dict[str, Any]) -> Encoding:
    return registry.create(
        name, dim=config.dim, heads=config.heads, length=config.length, layers=config.layers, causal=config.causal,
        axes=config.axes, head_dim=config.head_width, **parameters,
    )  # fmt: skip


def check_encodings(config: ModelConfig, per_layer: list[Encoding]) -> None:
    """Refuse encodings made for another model."""
    if len(per_layer) != config.layers:
        raise InputError(f"{len(per_layer)} encodings for {config.layers} layers: give one per layer")
    for part in distinct(per_layer):
        shape, name = part.shape, type(part).__module__.rpartition(".")[2]
        for field, want in (
            ("heads", config.heads),
            ("dim", config.dim),
            ("head_dim", config.head_width),
            ("causal", config.causal),
            ("axes", config.axes),
        ):
            if getattr(shape, field) != want:
                raise InputError(
                    f"{name} was made for {field} {getattr(shape, field)}, but the model has {field} {want}"
                )


def distinct(encodings: Sequence[Encoding]) -> list[Encoding]:
    """All parts of these encodings, each once, in order."""
    return list({id(part): part for encoding in encodings for part in encoding.parts()}.values())
