"""A transformer that takes any encoding."""

from collections import Counter
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.memory import require_memory
from ordinate.core.positions import AttentionContext, Positions
from ordinate.core.seeds import generator
from ordinate.model.assemble import check_encodings, distinct, make_encodings
from ordinate.model.block import Block, make_norm
from ordinate.model.bound_encoding import BoundEncoding
from ordinate.model.cache import Cache
from ordinate.model.config import ModelConfig
from ordinate.model.inputs import check_inputs, check_relation
from ordinate.model.packed import Documents
from ordinate.model.readout import of_documents, of_sequences

_TOKENS = ("embedding.weight", "readout")  # initialized as token embeddings


class Transformer(nn.Module):
    """Tokens to logits. `encodings`: objects, one per layer, instead of those that the configuration names."""

    def __init__(self, config: ModelConfig, encodings: Sequence[Encoding] | None = None, *, seed: int = 0) -> None:
        super().__init__()
        require_memory(4 * config.weights, f"a model of dim {config.dim} and {config.layers} layers")
        self.config = config
        device = torch.get_default_device()
        with torch.device("meta"):  # shapes first: `reset` draws the weights once
            # With a weight: to draw one on the meta device, torch would import its compiler.
            weight = torch.empty(config.vocabulary, config.dim)
            self.embedding = nn.Embedding(config.vocabulary, config.dim, _weight=weight)
            self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
            self.norm = make_norm(config) if config.norm_place == "pre" else None
            self.head = None if config.tied else nn.Linear(config.dim, config.classes, bias=False)
            self.readout = nn.Parameter(torch.empty(config.dim)) if config.readout == "readout" else None
        if device.type != "meta":
            self.to_empty(device=device)
        self._given = None if encodings is None else list(encodings)
        self._attach()
        if device.type != "meta":
            self.encodings.to(device)
            self.reset(seed, encodings=encodings is None)

    def _attach(self) -> None:
        self.per_layer = self._given or make_encodings(self.config)
        check_encodings(self.config, self.per_layer)
        self.parts = distinct(self.per_layer)
        self.encodings = nn.ModuleList(self.parts)
        self.embedding_parts = [p for p in self.parts if p.overrides("embed")]
        self.look_around = any("neighbors" in part.extra_inputs for part in self.parts)

    def materialize(self, device: torch.device | str, seed: int = 0) -> "Transformer":
        """Allocate and initialize a model that was built on the meta device; encodings are created anew."""
        self.encodings = nn.ModuleList()
        self.to_empty(device=device)
        with torch.device(device):
            self._attach()
        self.reset(seed, encodings=self._given is None)
        return self

    @torch.no_grad()
    def reset(self, seed: int, *, encodings: bool = True) -> None:
        """Initialize all weights by name: parameters of equal name and shape start equal under every encoding.

        They are drawn on the CPU and copied, so that a seed gives the same weights on every device.
        """
        for name, weight in self.named_parameters():
            if name.startswith("encodings."):
                continue
            if name.endswith("norm.weight"):
                weight.fill_(1.0)
            elif name.endswith("bias"):
                weight.zero_()
            else:
                drawn = torch.empty(weight.shape, device="cpu")
                weight.copy_(drawn.normal_(0.0, self._std(name, weight), generator=generator(seed, "init", name)))
        if encodings:
            seen: Counter[str] = Counter()
            device = self.embedding.weight.device
            for part in self.parts:
                part.to("cpu").reset(generator(seed, "init", "encoding", part.name, seen[part.name]))
                part.to(device)
                seen[part.name] += 1

    def _std(self, name: str, weight: Tensor) -> float:
        """The standard deviation that a matrix is initialized with."""
        given = self.config.init_std
        if name in _TOKENS:
            return self.config.token_std
        if given is None:
            return float(weight.shape[1] ** -0.5)
        # as in GPT-2: one std for all matrices, smaller for those that write to the residual stream of a deep model
        residual = name.endswith(("output.weight", "narrow.weight"))
        return given / (2 * self.config.layers) ** 0.5 if residual else given

    def cache(self, batch: int, capacity: int) -> Cache:
        """An empty KV cache for decoding."""
        c, weight = self.config, self.embedding.weight
        if not c.causal:
            raise InputError("only a causal model can decode with a cache: this one is bidirectional")
        return Cache(layers=c.layers, batch=batch, capacity=capacity, axes=c.axes, device=weight.device)

    def forward(
        self,
        tokens: Int[Tensor, "..."],
        *,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        document_ids: Tensor | None = None,
        padding_mask: Tensor | None = None,
        relation: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "b *n outputs"]:
        """Logits for every token; for a classification, for every sequence or every packed document.

        positions: [n], [b, n] or [b, n, axes]; by default 0, 1, 2, ..., restarting with each document if the
        configuration says so, and counting real tokens only. segments, document_ids: [b, n]. padding_mask: [b, n],
        false or 0 for padding. relation: [b, n, all tokens so far], relation types, for encodings that read them.
        cache: the KV cache, to which these tokens are added.
        """
        token_positions = check_inputs(
            self.config, self.parts, tokens, positions, segments, document_ids, padding_mask, cache
        )
        before, extra = 0 if cache is None else cache.length, self.readout is not None
        related = check_relation(self.parts, relation, tokens, before, extra=extra)
        x = F.embedding(tokens.long(), self.embedding.weight)
        if self.readout is not None:
            x, token_positions = self._append_readout(x, token_positions)
        context = self.context(token_positions, cache, related)
        x = self.run(x, context, cache)
        if cache is not None:
            cache.commit(context.k, explicit=positions is not None)
        return self._answer(x, token_positions.padding_mask, token_positions.document_ids)

    def states(
        self, tokens: Int[Tensor, "b n"], document_ids: Tensor | None = None, *, trusted: bool = False
    ) -> Float[Tensor, "b n d"]:
        """The last hidden states, to compute logits in chunks. `trusted`: values are not checked, only shapes."""
        positions = check_inputs(self.config, self.parts, tokens, document_ids=document_ids, trusted=trusted)
        return self.run(F.embedding(tokens.long(), self.embedding.weight), self.context(positions))

    @property
    def unembedding(self) -> Float[Tensor, "outputs d"]:
        """The weight that maps hidden states to logits."""
        return self.embedding.weight if self.head is None else self.head.weight

    def run(
        self, x: Float[Tensor, "b n d"], context: AttentionContext, cache: Cache | None = None
    ) -> Float[Tensor, "b n d"]:
        """All blocks: from token embeddings to the last hidden states."""
        x, bounds, documents = self.embed_and_bind(x, context)
        if self.training and self.config.dropout > 0:
            x = F.dropout(x, self.config.dropout)
        for block, bound in zip(self.blocks, bounds, strict=True):
            x = block(x, bound, cache, documents)
        return x if self.norm is None else self.norm(x)

    def embed_and_bind(
        self, x: Float[Tensor, "b n d"], context: AttentionContext
    ) -> tuple[Float[Tensor, "b n d"], list[BoundEncoding], Documents | None]:
        """Apply `embed`, bind every layer's encoding to the context, and return the documents if packed rows are
        laid out as one row per document."""
        positions = context.q
        if self.look_around and context.k is not context.q:  # `embed` reads the neighbors: all tokens so far
            assert context.k.tokens is not None
            positions, x = context.k, F.embedding(context.k.tokens.expand(len(x), -1), self.embedding.weight)
        for part in self.embedding_parts:
            x = part.embed(x, part.relabel_positions(positions))
        x = x if positions is context.q else x[:, context.start :]
        documents = Documents.worth_laying_out(context)
        context = context if documents is None else documents.context(context)
        bounds: dict[int, BoundEncoding] = {}
        for encoding in self.per_layer:
            if id(encoding) not in bounds:
                bounds[id(encoding)] = BoundEncoding(encoding, context)
        return x, [bounds[id(encoding)] for encoding in self.per_layer], documents

    def context(
        self, positions: Positions, cache: Cache | None = None, relation: Tensor | None = None
    ) -> AttentionContext:
        """These tokens as queries, with the cached tokens among the keys."""
        mask_documents = positions.document_ids is not None and self.config.document_mask
        keys = positions if cache is None else cache.extended(positions)
        return AttentionContext(positions, keys, self.config.causal, mask_documents, relation=relation)

    def _append_readout(self, x: Tensor, positions: Positions) -> tuple[Tensor, Positions]:
        """Append the read-out token: a trained vector after the last token."""
        assert self.readout is not None
        x = torch.cat((x, self.readout.to(x.dtype).expand(len(x), 1, -1)), dim=1)
        after = positions.values.amax(dim=1, keepdim=True) + 1
        segments, document_ids = (
            p if p is None else torch.cat((p, p[:, -1:]), dim=1) for p in (positions.segments, positions.document_ids)
        )
        tokens = None if positions.tokens is None else F.pad(positions.tokens, (0, 1), value=-1)
        padding_mask = None if positions.padding_mask is None else F.pad(positions.padding_mask, (0, 1), value=True)
        return x, Positions(
            torch.cat((positions.values, after), dim=1), segments, document_ids, positions.first, tokens, padding_mask
        )

    def _answer(self, x: Tensor, padding_mask: Tensor | None, document_ids: Tensor | None) -> Tensor:
        readout = self.config.readout
        if readout != "tokens" and document_ids is not None:
            x = of_documents(x, readout, document_ids)
        elif readout != "tokens":
            x = of_sequences(x, readout, padding_mask)
        return F.linear(x, self.embedding.weight) if self.head is None else self.head(x)
