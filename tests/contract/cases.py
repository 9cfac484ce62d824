"""Every encoding of the registry, plug-ins included, with its defaults; and variants that stretch the protocol."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ordinate import Encoding, InputError, ModelConfig, Transformer, encodings

LENGTH, VOCABULARY = 24, 13

VARIANTS = (
    "learned(beyond=clip)",
    "learned(beyond=interpolate)",
    "learned(rows=96)",
    "sinusoidal(layout=halves,exponent=tensor2tensor,scale_tokens=true)",
    "rope(pairs=interleaved,fraction=0.5)",
    "rope(scaling=linear,factor=2)",
    "rope(scaling=ntk,factor=2)",
    "rope(scaling=dynamic,factor=2)",
    "rope(scaling=yarn,factor=4)",
    "rope(scaling=llama3,factor=4)",
    "rope(scaling=longrope,factor=4,short=[1,1.1,1.2,1.3],long=[2,3,4,5])",
    "rope(scaling=proportional,fraction=0.5)",
    "rope_2d(mode=mixed)",
    "xpos(pairs=interleaved)",
    "shaw(farthest=4,values=false)",
    "shaw(farthest=4)",
    "cope(positions=6)",
    "t5(buckets=8,farthest=12)",
    "fire(share_layers=true)",
    "segment+t5",
    "learned+shaw",
    "rope+alibi",
)
NAMES = [*encodings.names(), *VARIANTS]


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
        model = Transformer(self.config()).eval()
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "norm" not in name:
                    weight.add_(torch.randn(weight.shape, generator=generator) * 0.2)
        return model

    def frozen(self) -> "Case":
        self.model.requires_grad_(False)
        return self

    @property
    def parts(self) -> list[Encoding]:
        return list(self.model.encodings)

    def exempt(self, test: str) -> bool:
        return any(test in part.exempt for part in self.parts)

    def positions(self, length: int, start: int = 0) -> Tensor:
        """[n, axes]: a text, or a grid of six columns."""
        index = torch.arange(length)
        if self.axes == 1:
            return (index + start)[:, None]
        rows = torch.stack((index // 6, index % 6, *([index % 2] * (self.axes - 2))), dim=-1)
        return rows + start

    def run(self, tokens: Tensor, **more: Any) -> Tensor:
        """Logits, with segments and (for grids) positions filled in."""
        length = tokens.shape[1]
        if self.axes > 1:
            more.setdefault("positions", self.positions(length))
        more.setdefault("segments", torch.arange(length)[None] % 2)
        return self.model(tokens, **more)


def _reads(name: str, axes: int) -> bool:
    try:
        Transformer(ModelConfig(vocabulary=2, encoding=name, dim=32, heads=4, length=LENGTH, axes=axes))
    except InputError as error:
        if "axes" in str(error):
            return False
        raise
    return True


def tokens(batch: int = 2, length: int = LENGTH, seed: int = 0) -> Tensor:
    return torch.randint(0, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def assert_close(a: Tensor, b: Tensor, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)
