"""A trained bias for every relation of two tokens."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext


class Graph(Encoding):
    """Adds a trained bias to each score, one per head and relation of the two tokens, such as the number of edges
    between two nodes of a graph or a tree. The relations are an input of the model; positions are ignored. The relation
    -1 (no path) has its own bias."""

    family = "bias"
    formula = r"b_{h,\,\min(\phi(i,j),\,K)},\quad \phi(i,j) = -1 \text{ if there is no path}"
    paper = Paper(
        "Do Transformers Really Perform Bad for Graph Representation?",
        ("Chengxuan Ying", "Tianle Cai", "Shengjie Luo", "Shuxin Zheng", "Guolin Ke", "Di He", "Yanming Shen",
         "Tie-Yan Liu"),
        2021, "2106.05234",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        farthest: Annotated[int, Param("relation K past which all share one number", low=1)] = 20,
        share_layers: Annotated[bool, Param("one table for all layers, as in the paper")] = True,
        std: Annotated[float, Param("spread of the starting values", low=0.0)] = 0.02,
    ) -> None:
        super().__init__(
            shape, shift_invariant=True, per_layer=not share_layers, axes=(1, 2, 3), extra_inputs=("relation",),
            real_positions=True,
        )  # fmt: skip
        self.farthest, self.std = farthest, std
        self.table = nn.Parameter(torch.empty(farthest + 2, shape.heads))  # the first row: no path

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.std, generator=generator)

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b h q k"]:
        if context.relation is None:
            raise InputError(
                "graph reads the relation of tokens: add it to the AttentionContext, or pass relation= to the model"
            )
        looked = not (context.relation.is_meta or torch.compiler.is_compiling())
        if looked and context.relation.numel() and (least := int(context.relation.min())) < -1:
            raise InputError(f"graph reads relations from -1 (no path) on, found {least}")
        rows = context.relation.clamp(-1, self.farthest) + 1
        return upcast(nn.functional.embedding(rows, self.table)).movedim(-1, 1)
