"""The configuration of a transformer, and presets of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ordinate.core.config import DERIVED, build, settle
from ordinate.core.errors import InputError, nearest
from ordinate.core.parameters import LARGEST_WHOLE
from ordinate.core.parsing import Choice, parse_choice
from ordinate.encodings import canonical

# Larger sizes are mistakes; what a machine can hold is less.
MOST = dict.fromkeys(
    ("vocabulary", "dim", "heads", "length", "kv_heads", "head_dim", "hidden", "classes"), LARGEST_WHOLE
) | dict(layers=1024, axes=16)  # the deepest transformers so far have a thousand layers


@dataclass(frozen=True)
class ModelConfig:
    """A transformer. The defaults are the preset `classic`; only the encoding differs between compared models."""

    vocabulary: int
    encoding: str | tuple[str, ...]  # one for all layers, or a list that repeats over them
    dim: int = 128
    heads: int = 4
    layers: int = 2
    length: int = 32  # the trained length
    kv_heads: int = DERIVED  # heads; fewer: grouped-query attention
    head_dim: int = DERIVED  # dim / heads
    hidden: int = DERIVED  # width of the feed-forward layer: 4 * dim
    causal: bool = True
    axes: int = 1
    norm: Literal["layer", "rms"] = "layer"
    norm_place: Literal["pre", "post", "none"] = "pre"
    residual: bool = True
    activation: Literal["gelu", "relu", "swiglu"] = "gelu"
    bias: bool = True  # on linear layers
    qk_norm: bool = False
    dropout: float = 0.1  # on embeddings and on what each branch adds; never on attention weights
    readout: Literal["tokens", "mean", "first", "last", "readout"] = "tokens"
    classes: int = DERIVED  # vocabulary
    tied: bool = False
    init_std: float | None = None  # std of matrices at initialization; none: 1 / sqrt(fan_in) of each
    embedding_std: float | None = None  # std of token embeddings at initialization; none: 1 / sqrt(dim), see token_std
    document_positions: Literal["restart", "continue"] = "restart"  # in packed documents
    document_mask: bool = True  # tokens attend within their own document only

    def __post_init__(self) -> None:
        if problems := settle(self):
            raise InputError("; ".join(problems))
        if self.head_dim == DERIVED and self.heads > 0 and self.dim % self.heads:
            problems.append(f"{self.heads} heads do not divide dim {self.dim}: choose dim divisible by heads")
        problems += [
            f"{name} must be at least 1 and at most {most}, got {value}"
            for name, most in MOST.items()
            if (value := getattr(self, name)) != DERIVED and not 1 <= value <= most
        ]
        derived = dict(
            kv_heads=self.heads, head_dim=self.dim // max(self.heads, 1), hidden=4 * self.dim, classes=self.vocabulary
        )
        for name, value in derived.items():
            if getattr(self, name) == DERIVED:
                object.__setattr__(self, name, value)
        if not problems and self.heads % self.kv_heads:
            problems.append(f"kv_heads {self.kv_heads} must divide heads {self.heads}")
        if not 0.0 <= self.dropout < 1.0:
            problems.append(f"dropout must be at least 0 and below 1, got {self.dropout}")
        if self.tied and self.classes != self.vocabulary:
            problems.append(f"tied embeddings need classes = vocabulary, got {self.classes} and {self.vocabulary}")
        if self.tied and self.readout != "tokens":
            problems.append("tied embeddings belong to per-token logits: set readout=tokens or tied=false")
        if self.causal and self.readout == "first":
            problems.append("a causal model's first token sees nothing else: set readout=last, mean or readout")
        for name in ("init_std", "embedding_std"):
            if (std := getattr(self, name)) is not None and not std > 0:
                problems.append(f"{name} must be above 0, got {std:g}")
        named = (self.encoding,) if isinstance(self.encoding, str) else self.encoding
        if not named or not all(named):
            problems.append("encoding is empty: name one")
        elif len(named) > self.layers:
            problems.append(f"{len(named)} encodings for {self.layers} layers: at most one per layer")
        if problems:
            raise InputError("; ".join(problems))
        texts = tuple(canonical(text) for text in named)  # one text, so one hash, for one meaning
        object.__setattr__(self, "encoding", texts[0] if len(set(texts)) == 1 else texts)

    @property
    def token_std(self) -> float:
        """The std of token embeddings at initialization."""
        return self.embedding_std or self.dim**-0.5

    @property
    def weights(self) -> int:
        """The number of parameters in matrices, without those of encodings."""
        attention = 2 * self.dim * self.head_dim * (self.heads + self.kv_heads)
        forward = (3 if self.activation == "swiglu" else 2) * self.dim * self.hidden
        tables = self.vocabulary + (0 if self.tied else self.classes)
        return self.layers * (attention + forward) + tables * self.dim

    def choices(self) -> tuple[tuple[Choice, ...], ...]:
        """The encodings of each layer: one entry per layer, each of one or more that act together."""
        texts = (self.encoding,) if isinstance(self.encoding, str) else self.encoding
        parsed = [parse_choice(text) for text in texts]
        return tuple(parsed[layer % len(parsed)] for layer in range(self.layers))


PRESETS: dict[str, dict[str, Any]] = {
    "classic": {},
    "modern": dict(
        norm="rms", activation="swiglu", bias=False, qk_norm=True, dropout=0.0, tied=True, length=1024,
        vocabulary=65_536,
    ),
}  # fmt: skip
PRESETS |= {
    # for one machine without an accelerator: the first trains in minutes, the second in hours
    "nano": PRESETS["modern"] | dict(dim=96, layers=4, heads=3, length=256, vocabulary=4_096),
    "micro": PRESETS["modern"] | dict(dim=256, layers=4, heads=4, length=256, vocabulary=4_096),
}
PRESETS |= {
    # 0.02 as in the documents of these sizes: meant for such widths, and far too small for narrow models
    size: PRESETS["modern"] | dict(dim=dim, layers=layers, heads=heads, init_std=0.02, embedding_std=0.02)
    for size, dim, layers, heads in (
        ("tiny", 512, 6, 8), ("small", 768, 12, 12), ("medium", 1024, 24, 16), ("large", 2048, 16, 32),
    )
}  # fmt: skip


def preset(name: str, *more: Mapping[str, Any], **settings: Any) -> ModelConfig:
    """A preset, with changes on top: `preset("modern", encoding="...", dim=256)`."""
    if name not in PRESETS:
        raise InputError(f"unknown preset {name!r}: {nearest(name, PRESETS)}")
    return build(ModelConfig, PRESETS[name], *more, settings)
