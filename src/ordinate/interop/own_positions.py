"""Taking a transformers model's own positions out, and putting them back."""

import inspect
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.errors import InputError

_TABLES = ("position_embeddings", "wpe", "embed_positions")  # BERT and its kin, GPT-2, OPT


class Silent(nn.Module):
    """Replaces a position table and adds nothing."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        zeros = torch.zeros(table.embedding_dim, dtype=table.weight.dtype, device=table.weight.device)
        self.register_buffer("zeros", zeros, persistent=False)

    def forward(self, *args: Any, position_ids: Tensor | None = None, **others: Any) -> Float[Tensor, "*b n d"]:
        ids = args[0] if position_ids is None else position_ids
        return self.get_buffer("zeros").expand(*ids.shape, -1)


class OwnPositions:
    """The positions that a model came with: a rotation that is held still, or a table that is set aside."""

    def __init__(self, base: nn.Module) -> None:
        """Take them out. A model whose positions are of an unknown kind is refused."""
        tables = [
            (parent, name, child)
            for parent in base.modules()
            for name, child in parent.named_children()
            if name in _TABLES and isinstance(child, nn.Embedding)
        ]
        rotations = [module for module in base.modules() if type(module).__name__.endswith("RotaryEmbedding")]
        strange = [r for r in rotations if list(inspect.signature(r.forward).parameters)[:2] != ["x", "position_ids"]]
        if strange or len(tables) + bool(rotations) != 1:
            why = "rotates in a way of its own" if strange else "has neither one table of positions nor a rotary module"
            fix = "use a model built as Llama, GPT-2 or BERT are"
            raise InputError(f"{type(base).__name__} {why}, so its own positions cannot be taken out: {fix}")
        self.tables = tables  # in a list, where they are no part of any module
        for parent, name, table in tables:
            parent.add_module(name, Silent(table))
        self.stills = [module.register_forward_hook(_still) for module in rotations]

    def restore(self) -> None:
        for handle in self.stills:
            handle.remove()
        for parent, name, table in self.tables:
            parent.add_module(name, table.to(parent.get_submodule(name).get_buffer("zeros")))


def _still(module: nn.Module, args: Any, rotation: Any) -> tuple[Tensor, Tensor]:
    """A rotation by no angle: its cosine is 1, its sine 0."""
    if not (isinstance(rotation, tuple) and len(rotation) == 2 and all(isinstance(part, Tensor) for part in rotation)):
        raise InputError(f"{type(module).__name__} gives no pair of cosine and sine, so it cannot be held still")
    cos, sin = rotation
    return torch.ones_like(cos), torch.zeros_like(sin)
