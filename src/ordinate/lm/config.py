"""The configuration of a language model: everything that its weights depend on, resolved before training starts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import torch

from ordinate.core.config import build, digest, settle
from ordinate.core.errors import InputError, nearest
from ordinate.lm.added_size import scale_by_default, short_name
from ordinate.lm.sizes import defaults
from ordinate.model import PRESETS, ModelConfig, Transformer
from ordinate.text.tokenizer import SMALLEST
from ordinate.training.config_limits import check_numbers, refuse, too_small, wrong_betas

Shard = Literal["none", "fsdp2"]
# How documents are packed into a row: where positions restart, and whether attention crosses documents.
PACKING: dict[str, dict[str, Any]] = {
    "restart+masked": dict(document_positions="restart", document_mask=True),
    "continue+masked": dict(document_positions="continue", document_mask=True),
    "continue+unmasked": dict(document_positions="continue", document_mask=False),
}
# The same for every size.
FIXED: dict[str, Any] = dict(axes=1, readout="tokens", classes=None)
MASKED = 0.15  # share of the tokens that a bidirectional model predicts (BERT, Devlin 2019)


@dataclass(frozen=True)
class TrunkConfig:
    """What all budgets share: a model, at a constant rate. Ranks and micro-batches may change between starts."""

    size: str
    model: ModelConfig
    corpus: str  # the fingerprint of the data
    batch: int  # sequences per step
    lr: float
    warmup: int  # steps
    betas: tuple[float, ...] = (0.9, 0.95)
    weight_decay: float = 0.1  # on matrices of the network; never on norms or an encoding's own parameters
    clip: float = 1.0
    mix: float = 0.0  # share of sequences that are algorithmic problems
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 42

    def __post_init__(self) -> None:
        problems = settle(self) + too_small(self, batch=1, lr=1e-12, warmup=0, weight_decay=0, clip=0)
        if not 0 <= self.mix <= 1:
            problems.append(f"mix must lie in 0 to 1, got {self.mix:g}")
        refuse(problems + wrong_betas(self.betas))

    @cached_property
    def id(self) -> str:
        return digest(self)

    @property
    def step_tokens(self) -> int:
        return self.batch * self.model.length

    @property
    def row_targets(self) -> int:
        """Tokens of a sequence that are predicted: all by a causal model, masked ones by a bidirectional one."""
        return self.model.length if self.model.causal else max(1, round(MASKED * self.model.length))

    @property
    def text_vocabulary(self) -> int:
        """Ids of text are below this; the mask of a bidirectional model comes after them."""
        return self.model.vocabulary - (not self.model.causal)

    @property
    def encoding(self) -> str:
        """As a user writes it."""
        encoding = self.model.encoding
        return ",".join(map(short_name, (encoding,) if isinstance(encoding, str) else encoding))


@dataclass(frozen=True)
class Decay:
    """The decay of the rate at the end of a budget."""

    share: float = 0.1  # of the budget
    shape: Literal["sqrt", "linear"] = "sqrt"
    floor: float = 0.0  # share of the rate that is left at the end

    def __post_init__(self) -> None:
        problems = settle(self)
        if not 0 < self.share < 1:
            problems.append(f"decay must lie between 0 and 1, got {self.share:g}")
        if not 0 <= self.floor < 1:
            problems.append(f"decay_floor must be at least 0 and below 1, got {self.floor:g}")
        refuse(problems)


@dataclass(frozen=True)
class Options:
    """How training is carried out. Nothing here changes what is learned, except the last bits of sums."""

    device: str = "auto"
    micro_batch: int | None = None  # sequences of one pass on one rank
    shard: Shard = "none"
    compiled: bool = False
    save_every: float = 300.0  # seconds
    keep: int = 1  # checkpoints, the latest among them
    log_every: int = 10  # steps
    valid_every: int = 500  # steps
    valid_tokens: int = 1_000_000  # at most
    trackers: tuple[str, ...] = ()


_DECAY = {"decay": "share", "decay_shape": "shape", "decay_floor": "floor"}


def resolve(
    size: str, encoding: str | tuple[str, ...], corpus: str, settings: Mapping[str, Any] | None = None
) -> tuple[TrunkConfig, Decay]:
    """A whole configuration from a size, an encoding, a corpus' fingerprint, and a user's settings.

    Tokens are scaled beside what an encoding adds, unless its text says otherwise: see `added_size`. With
    `causal=false` the model is bidirectional and predicts masked tokens; its vocabulary has the mask on top.
    """
    default, given = defaults(size), dict(settings or {})
    check_numbers(given)
    packing = given.pop("packing", "restart+masked")
    if packing not in PACKING:
        raise InputError(f"unknown packing {packing!r}: {nearest(str(packing), PACKING)}")
    fixed = FIXED | PACKING[packing]
    model_keys = {f.name for f in fields(ModelConfig)} - fixed.keys() - {"encoding"}
    own_keys = {f.name for f in fields(TrunkConfig)} - {"size", "model", "corpus"}
    decays = {_DECAY[key]: given.pop(key) for key in list(given) if key in _DECAY}
    model = {key: given.pop(key) for key in list(given) if key in model_keys}
    problems = [f"{key} is fixed for language models" for key in given if key in fixed]
    problems += [
        f"unknown key {key}: {nearest(key, own_keys | model_keys | _DECAY.keys() | {'packing'})}"
        for key in given
        if key not in own_keys | fixed.keys()
    ]
    if isinstance(vocabulary := model.get("vocabulary"), int) and vocabulary < SMALLEST:
        problems.append(f"vocabulary must be at least {SMALLEST}, the bytes and the end of a text, got {vocabulary}")
    refuse(problems)
    named = scale_by_default(encoding) if isinstance(encoding, str) else tuple(map(scale_by_default, encoding))
    shape = build(ModelConfig, PRESETS[size], {"causal": True}, model, fixed, {"encoding": named})
    if not shape.causal:
        shape = replace(shape, vocabulary=shape.vocabulary + 1, classes=shape.classes + 1)
    check_for_text(shape)
    own = dict(size=size, corpus=corpus, model=shape, batch=default.batch, lr=default.lr, warmup=default.warmup)
    return build(TrunkConfig, own, given), build(Decay, decays)


def change_encoding(config: TrunkConfig, encoding: str, length: int) -> TrunkConfig:
    """The same model with another encoding and context, in steps of as many tokens."""
    if config.step_tokens % length:
        raise InputError(
            f"a step has {config.step_tokens:,} tokens, which sequences of {length:,} do not fill: choose a context "
            f"that divides it, such as {2 * config.model.length:,}"
        )
    model = replace(config.model, encoding=scale_by_default(encoding), length=length)
    check_for_text(model)
    return replace(config, model=model, batch=config.step_tokens // length)


def check_for_text(model: ModelConfig) -> None:
    """Refuse encodings that cannot be built, or that read what text does not have."""
    with torch.device("meta"):
        for part in Transformer(model).parts:
            for what in sorted({"segments", "relation"} & set(part.extra_inputs)):
                raise InputError(f"{part.name} reads the {what} of tokens, which text does not have: choose another")
