"""All probes of an encoding itself, without training."""

from dataclasses import dataclass, replace
from typing import Any

from ordinate.core.encoding import Extrapolation, Family
from ordinate.core.errors import InputError
from ordinate.core.parsing import parse_choice
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_effects import Setting
from ordinate.probes.position_vectors import VectorProbe, probe_vectors
from ordinate.probes.score_distance import (
    ScoreProbe,
    WavelengthProbe,
    probe_scores,
    probe_wavelengths,
    without_scaling,
)

SETTING = Setting(head_dim=16, heads=4, length=64, reach=256, token_size=64**-0.5)  # tokens as our models start


@dataclass(frozen=True)
class EncodingProbe:
    """What an encoding does, as it is before training. `limit`: why nothing is measured past some position."""

    encoding: str
    family: Family
    dim: int
    heads: int
    length: int  # trained
    reach: int  # positions that were measured
    trained: bool  # it has parameters
    shift_invariant: bool
    extrapolation: Extrapolation
    limit: str
    vectors: VectorProbe | None
    scores: ScoreProbe | None
    wavelengths: WavelengthProbe | None


def probe_encoding(text: str, setting: Setting = SETTING) -> EncodingProbe:
    """Probe an encoding as people write it, `name` or `name(key=value)`."""
    choices = parse_choice(text)
    if len(choices) != 1:
        names = ", then ".join(choice.name for choice in choices)
        raise InputError(f"{text!r} is {len(choices)} encodings, and a probe takes one at a time: {names}")
    name, parameters = choices[0].name, dict(choices[0].parameters)
    encoding = effects.make(name, parameters, setting).eval()
    setting, limit = effects.within(encoding, setting)
    defined = effects.make(name, parameters, replace(setting, token_size=None)).eval()
    unscaled = without_scaling(encoding, name, setting)
    return EncodingProbe(
        encoding=text, family=encoding.family, dim=encoding.shape.dim, heads=encoding.shape.heads,
        length=setting.length, reach=setting.reach, trained=_has_parameters(encoding),
        shift_invariant=encoding.shift_invariant, extrapolation=encoding.extrapolation, limit=limit,
        vectors=probe_vectors(encoding, defined, setting) if encoding.overrides("embed") else None,
        scores=probe_scores(encoding, setting),
        wavelengths=probe_wavelengths(encoding, unscaled, setting),
    )  # fmt: skip


def _has_parameters(encoding: Any) -> bool:
    return any(True for _ in encoding.parameters())
