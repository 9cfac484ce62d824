"""Every encoding of the registry, plug-ins included, with its defaults; and variants for the rest of the protocol."""

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from ordinate import Encoding, ModelConfig, Positions, Transformer, encodings
from ordinate.core.errors import AxesError, CausalError

LENGTH, VOCABULARY = 24, 13

VARIANTS = (
    "learned(beyond=clip)",
    "learned(beyond=interpolate)",
    "learned(rows=96)",
    "sinusoidal(layout=halves,exponent=tensor2tensor,scale_tokens=true)",
    "rope(pairs=interleaved,fraction=0.5)",
    "rope(scaling=dynamic,factor=2)",
    "rope(scaling=yarn,factor=4)",
    "rope(scaling=longrope,factor=4,short=[1,1.1,1.2,1.3],long=[2,3,4,5])",
    "rope(scaling=proportional,fraction=0.5)",
    "rope_2d(mode=mixed)",
    "xpos(pairs=interleaved)",
    "shaw(farthest=4)",
    "cope(positions=6)",
    "t5(buckets=8,farthest=12)",
    "fire(share_layers=true)",
    "fire(threshold=10)",
    "kerple(kind=power)",
    "tupe(untied=true,buckets=8,farthest=12)",
    "deberta(buckets=8,farthest=12)",
    "path(conv=1,rank=4)",
    "dape(penalty=alibi,hidden=5)",
    "sininit(beyond=interpolate)",
    "learned_2d(mode=concatenate,beyond=clip)",
    "sinusoidal_2d(layout=sines_first)",
    "coupled(source=given,rows=96)",
    "fope(trained=true,clip=false)",
    "clipped_rope(clipped=3,pairs=interleaved)",
    "mrope(sections=[1,1,2],pairs=interleaved)",
    "selective_rope(per_head=false,window=2,rank=3)",
    "rerope(window=4,leak=0.5)",
    "segment+t5",
    "learned+shaw",
    "rope+alibi",
    "rope+shaw",
    "pope+t5",
    "abacus+rope",
    "fox+selective_rope",
    "cope+shaw",
)
REGISTERED = encodings.names()
NAMES = [*REGISTERED, *VARIANTS]
EVERY = [*REGISTERED, *(pytest.param(name, marks=pytest.mark.sampled) for name in VARIANTS)]


def first_of(*values: Any) -> list[Any]:
    """Values of a parameter, of which all but the first are sampled."""
    return [values[0], *(pytest.param(value, marks=pytest.mark.sampled) for value in values[1:])]


@dataclass
class Case:
    """A small model with one encoding, its weights spread widely so that nothing hides in a zero."""

    name: str
    causal: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.axes = next(axes for axes in (1, 2, 3) if _reads(self.name, axes))
        self.model = self.build()

    def config(self) -> ModelConfig:
        base = dict(dim=32, heads=4, layers=3, length=LENGTH, dropout=0.0, causal=self.causal, axes=self.axes)
        return ModelConfig(vocabulary=VOCABULARY, encoding=self.name, **(base | self.settings))

    def build(self) -> Transformer:
        """A separate model; a copy takes a tenth of the time of building one."""
        return deepcopy(_built(self.config(), torch.get_default_dtype()))

    def frozen(self) -> "Case":
        self.model.requires_grad_(False)
        return self

    @staticmethod
    def or_causal(name: str, causal: bool) -> "Case":
        """The case, or its causal form when the encoding is declared causal only."""
        try:
            return Case(name, causal=causal)
        except CausalError:
            return Case(name)

    @property
    def parts(self) -> list[Encoding]:
        return list(self.model.encodings)

    def exempt(self, test: str) -> bool:
        return any(test in part.skip_contracts for part in self.parts)

    def positions(self, length: int, start: int = 0) -> Tensor:
        """[n, axes]: a text, or a grid of six columns."""
        index = torch.arange(length)
        if self.axes == 1:
            return (index + start)[:, None]
        rows = torch.stack((index // 6, index % 6, *([index % 2] * (self.axes - 2))), dim=-1)
        return rows + start

    @property
    def extra_inputs(self) -> set[str]:
        return {what for part in self.parts for what in part.extra_inputs}

    def inputs(self, positions: Tensor, start: int = 0, explicit: bool = False) -> dict[str, Any]:
        """The model's inputs for the tokens from `start` on; `positions` [b, n, axes] are those of all tokens."""
        inputs: dict[str, Any] = {}
        positions = positions if positions.dim() == 3 else positions[None]
        if self.axes > 1 or explicit:
            inputs["positions"] = positions[:, start:]
        if "segments" in self.extra_inputs:
            inputs["segments"] = positions[:, start:, -1] % 2
        if "relation" in self.extra_inputs:
            inputs["relation"] = self.relation(positions)[:, start:]
        return inputs

    def relation(self, positions: Tensor) -> Tensor | None:
        """An arbitrary relation of two tokens; None if the encoding reads none."""
        if "relation" not in self.extra_inputs:
            return None
        positions = positions if positions.dim() == 3 else positions[None]
        return (positions[:, :, None, -1] - positions[:, None, :, -1]).abs() % 5 - 1

    def token_positions(self, length: int) -> Positions:
        """The tokens as an encoding sees them, outside a model."""
        positions = self.positions(length)
        return Positions(
            positions[None], segments=positions[None, :, -1] % 2, first=0 if self.axes == 1 else None,
            tokens=tokens(2, length),
        )  # fmt: skip

    def run(self, tokens: Tensor, **more: Any) -> Tensor:
        """Logits, with the inputs that the encoding reads."""
        positions = more["positions"] if "positions" in more else self.positions(tokens.shape[1])
        positions = positions[:, None] if positions.dim() == 1 else positions
        return self.model(tokens, **(self.inputs(positions) | more))


@cache
def _built(config: ModelConfig, dtype: torch.dtype) -> Transformer:
    model = Transformer(config).eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" not in name:
                weight.add_(torch.randn(weight.shape, generator=generator) * 0.2)
    return model


@cache
def _reads(name: str, axes: int) -> bool:
    try:
        Transformer(ModelConfig(vocabulary=2, encoding=name, dim=32, heads=4, length=LENGTH, axes=axes))
    except AxesError:
        return False
    return True


def tokens(batch: int = 2, length: int = LENGTH, seed: int = 0) -> Tensor:
    return torch.randint(0, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def assert_close(a: Tensor, b: Tensor, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)
