"""A model of given sizes with any encoding, inputs for it, and its attention paths, to measure without a task."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.memory import require_memory
from ordinate.core.positions import AttentionContext
from ordinate.model import BoundEncoding, ModelConfig, Transformer
from ordinate.model.attention import choose
from ordinate.model.inputs import check_inputs, check_relation

VOCABULARY = 64


def make_model(
    encoding: str, *, dim: int, heads: int, layers: int, length: int, axes: int | None = None
) -> Transformer:
    """On text if the encoding reads text, otherwise on a grid of as few axes as it can read."""
    for count in (1, 2, 3) if axes is None else (axes,):
        config = dict(vocabulary=VOCABULARY, dim=dim, heads=heads, layers=layers, length=length, dropout=0.0)
        try:
            return Transformer(ModelConfig(encoding=encoding, axes=count, **config))  # type: ignore[arg-type]
        except InputError as error:
            if "axes" not in str(error) or count == 3 or axes is not None:
                raise
    raise AssertionError


@dataclass(frozen=True)
class Inputs:
    """Tokens of one batch, and the extra inputs of the model's encodings."""

    tokens: Int[Tensor, "b n"]
    arguments: dict[str, Tensor]  # as `Transformer.forward` takes it

    @staticmethod
    def of(model: Transformer, batch: int, length: int) -> "Inputs":
        draw = torch.Generator().manual_seed(0)
        tokens = torch.randint(0, VOCABULARY, (batch, length), generator=draw)
        reads = {what for part in model.parts for what in part.extra_inputs}
        index, arguments = torch.arange(length), {}
        if model.config.axes > 1:
            arguments["positions"] = grid(length, model.config.axes)
        if "segments" in reads:
            arguments["segments"] = (index >= length // 2).long()[None]
        if "relation" in reads:
            require_memory(8 * length**2, f"the relations of {length} tokens")
            arguments["relation"] = (index[:, None] - index).abs()[None]
        return Inputs(tokens, arguments)

    def part(self, start: int, stop: int) -> dict[str, Any]:
        """The arguments for tokens `start` to `stop` when all earlier ones are in a cache."""
        rows = self.arguments.items()
        part = {name: row[start:stop] if name == "positions" else row[:, start:stop] for name, row in rows}
        return part | ({"relation": part["relation"][..., :stop]} if "relation" in part else {})

    def context(self, model: Transformer) -> AttentionContext:
        """The whole batch against itself, as the model's layers see it."""
        positions, segments, related = (self.arguments.get(name) for name in ("positions", "segments", "relation"))
        token_positions = check_inputs(model.config, model.parts, self.tokens, positions, segments)
        return model.context(token_positions, relation=check_relation(model.parts, related, self.tokens, 0))


def grid(length: int, axes: int) -> Int[Tensor, "n axes"]:
    """The first points of a cube that holds this many, row by row."""
    side = round(length ** (1 / axes))
    side += side**axes < length
    index = torch.arange(length)
    return torch.stack([index // side**power % side for power in reversed(range(axes))], dim=-1)


def paths(model: Transformer, context: AttentionContext, batch: int, *, trains: bool = True) -> str:
    """The attention paths of the layers, usually one; they follow from the shapes of queries and keys."""
    config = model.config
    shapes = (batch, config.heads, context.q.length, config.head_dim), (batch, config.heads, context.k.length, 1)
    q, k = (torch.zeros(1).expand(shape) for shape in shapes)
    chosen = [choose(q.requires_grad_(trains), k, BoundEncoding(each, context)) for each in model.per_layer]
    return ", ".join(dict.fromkeys(chosen))
