"""What training made of an encoding's parameters: before and after, as numbers and as what they do."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ordinate.core.encoding import Encoding
from ordinate.model import Transformer
from ordinate.probes import encoding_effects as effects

FEW = 16  # numbers of a parameter that are kept one by one

Effect = Literal["bias", "wavelength", "norm"]  # by distance, by channel, by position


@dataclass(frozen=True)
class LearnedParameter:
    """Root mean squares of the initial and of the trained values, and of their difference; the values of small ones."""

    name: str
    shape: tuple[int, ...]
    before: float
    after: float
    change: float
    initial: tuple[float, ...]  # empty: more than a few
    trained: tuple[float, ...]


@dataclass(frozen=True)
class LearnedEffect:
    """What an encoding with parameters does, before and after training: a head's bias by distance, the wavelength of
    each channel of a head (0: it does not turn), or the norm of the added vector by position."""

    encoding: str
    effect: Effect
    head: int  # counted from 1; 0: all heads together
    before: tuple[float, ...]
    after: tuple[float, ...]


def encoding_parameters(model: Transformer) -> dict[str, nn.Parameter]:
    """The parameters of the encodings by names to read, `encoding.parameter`, numbered where encodings share a name."""
    counts = Counter(part.name for part in model.parts)
    turn: Counter[str] = Counter()
    found: dict[str, nn.Parameter] = {}
    for part in model.parts:
        turn[part.name] += 1
        which = f" {turn[part.name]}" if counts[part.name] > 1 else ""
        found |= {f"{part.name}{which}.{name}": weight for name, weight in part.named_parameters()}
    return found


def learned_parameters(untrained: Transformer, trained: Transformer) -> list[LearnedParameter]:
    """Each parameter of the encodings; initial values follow from the seed."""
    before, after = encoding_parameters(untrained), encoding_parameters(trained)
    return [_learned(name, before[name].detach(), after[name].detach()) for name in after]


def _learned(name: str, before: Tensor, after: Tensor) -> LearnedParameter:
    few = after.numel() <= FEW
    return LearnedParameter(
        name, tuple(after.shape), _size(before), _size(after), _size(after - before),
        initial=tuple(before.flatten().tolist()) if few else (), trained=tuple(after.flatten().tolist()) if few else (),
    )  # fmt: skip


def _size(values: Tensor) -> float:
    return float(values.double().square().mean().sqrt())


def learned_effects(untrained: Transformer, trained: Transformer, reach: int) -> list[LearnedEffect]:
    """Of every encoding that was trained, over so many positions."""
    found: list[LearnedEffect] = []
    for before, after in zip(untrained.parts, trained.parts, strict=True):
        if any(True for _ in after.parameters()) and not after.feature_width:
            found += _effects(before, after, min(reach, after.max_positions))
    return found


def _effects(before: Encoding, after: Encoding, reach: int) -> Iterator[LearnedEffect]:
    both = (before, after)
    if after.overrides("embed"):
        norms = [effects.added(each, effects.along(each, 0, reach)[0]).norm(dim=-1) for each in both]
        yield from _curves(after.name, "norm", norms[0][None], norms[1][None])
    if after.has_bias:
        biases = [effects.biases(each, effects.along(each, 0, reach)[0]) for each in both]
        if biases[0] is not None and biases[1] is not None:
            yield from _curves(after.name, "bias", *(values[:, -1].flip(-1) for values in biases if values is not None))
    if after.overrides("rotate"):
        angles = [effects.turns(each, 0, 0) for each in both]
        if angles[0] is not None and angles[1] is not None:
            waves = [2 * torch.pi / angle[0] for angle in angles if angle is not None]
            yield from _curves(after.name, "wavelength", *(wave.where(wave.isfinite(), 0.0) for wave in waves))


def _curves(name: str, effect: Effect, before: Tensor, after: Tensor) -> Iterator[LearnedEffect]:
    for head, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        if old.isfinite().all() and new.isfinite().all():
            yield LearnedEffect(name, effect, head if len(before) > 1 else 0, tuple(old.tolist()), tuple(new.tolist()))
