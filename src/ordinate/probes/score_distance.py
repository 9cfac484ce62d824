"""Of the scores that an encoding shapes: against distance for equal and for random content, biases, wavelengths."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_effects import Setting
from ordinate.probes.readers import recovered

WINDOW = 16  # distances at either end that are averaged
STILL = 1e-9  # radians per position: a channel that turns no faster does not turn


@dataclass(frozen=True)
class ContentScores:
    """Scores s(r) = q_i . k_{i-r} / sqrt(e) + bias of contents of variance 1, by distance r: their mean over contents
    and their standard deviation, each the mean over the heads that see so far; none where no head does."""

    mean: tuple[float | None, ...]
    std: tuple[float | None, ...]

    @property
    def mean_ends(self) -> tuple[float, float] | None:
        """The mean of the nearest distances and that of the farthest; none where no head sees as far."""
        return _ends(self.mean)

    @property
    def std_ends(self) -> tuple[float, float] | None:
        return _ends(self.std)


@dataclass(frozen=True)
class ScoreProbe:
    """equal: every key has the content of the query, so its score shows what an encoding prefers. random: contents are
    independent, as Barbero et al. (2410.06205) have them. distance_read: R^2 of a linear reader of the distance (see
    `readers`) from what each channel or each head's bias gives the score at that distance; none where contents decide.
    bias: by head, then by distance; none where a head does not look."""

    equal: ContentScores
    random: ContentScores
    bias: tuple[tuple[float | None, ...], ...]
    distance_read: float | None


@dataclass(frozen=True)
class WavelengthProbe:
    """Positions per turn of every channel, 2 pi / angle, 0 for channels that do not turn; medians over heads and, where
    content decides, over tokens. before: without the scaling; the same where there is none."""

    length: int  # trained
    before: tuple[float, ...]
    after: tuple[float, ...]

    def whole_turns(self, waves: tuple[float, ...]) -> int:
        """How many channels turn at least once within the trained length."""
        return sum(0 < wave <= self.length for wave in waves)


def probe_scores(encoding: Encoding, setting: Setting) -> ScoreProbe | None:
    """None if no score depends on a position."""
    if not (encoding.overrides("rotate", "qk_scores", "score_mod") or encoding.has_bias):
        return None
    context, _ = effects.along(encoding, 0, setting.reach)
    last = setting.reach - 1
    equal, random = (
        effects.whole_scores(encoding, context, last, setting.seed, equal=equal).flip(-1) for equal in (True, False)
    )
    biases = effects.biases(encoding, context)
    by_head = () if biases is None else tuple(map(_finite, biases[:, last].flip(-1).tolist()))
    return ScoreProbe(_content(equal), _content(random), by_head, distance_read(encoding, setting))


def _finite(values: list[float]) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in values)


def _content(scores: Float[Tensor, "draws h k"]) -> ContentScores:
    scores = scores.double().where(scores.isfinite(), torch.nan)
    return ContentScores(_numbers(scores.mean(dim=0)), _numbers(scores.std(dim=0)))


def _numbers(by_head: Float[Tensor, "h k"]) -> tuple[float | None, ...]:
    """The mean over the heads that have a number."""
    return _finite(by_head.nanmean(dim=0).tolist())


def _ends(values: tuple[float | None, ...]) -> tuple[float, float] | None:
    """The mean of the nearest distances, without distance 0, and that of the farthest."""
    some = min(WINDOW, max(1, (len(values) - 1) // 2))
    near, far = ([v for v in part if v is not None] for part in (values[1 : 1 + some], values[-some:]))
    return (sum(near) / len(near), sum(far) / len(far)) if near and far else None


def distance_read(encoding: Encoding, setting: Setting) -> float | None:
    """R^2 of a linear reader of the distance from the score's parts at that distance."""
    if encoding.feature_width or encoding.overrides("qk_scores", "score_mod"):
        return None
    parts = []
    if encoding.overrides("rotate"):
        parts.append(effects.channel_scores(encoding, 0, setting.reach, 1).T)
    context, _ = effects.along(encoding, 0, setting.reach)
    biases = effects.biases(encoding, context)
    if biases is not None:
        seeing = biases[:, -1].isfinite().all(dim=-1)
        parts += [biases[seeing, -1].flip(-1).T] if seeing.any() else []
    distances = torch.arange(setting.reach)
    return recovered(torch.cat(parts, dim=1), distances.double(), distances % 4 == 2) if parts else None


def probe_wavelengths(encoding: Encoding, unscaled: Encoding, setting: Setting) -> WavelengthProbe | None:
    """None if nothing turns. Angles may depend on the length of the text: taken are those at the farthest position."""
    if not encoding.overrides("rotate"):
        return None
    after, before = (_wavelengths(each, setting) for each in (encoding, unscaled))
    return None if after is None or before is None else WavelengthProbe(setting.length, before, after)


def _wavelengths(encoding: Encoding, setting: Setting) -> tuple[float, ...] | None:
    angles = effects.turns(encoding, 0, setting.seed, setting.reach)
    if angles is None or not (angles > STILL).any():
        return None
    middle = angles.flatten(0, 1).median(dim=0).values.tolist()
    return tuple(2 * math.pi / angle if angle > STILL else 0.0 for angle in middle)


def without_scaling(encoding: Encoding, name: str, setting: Setting) -> Encoding:
    """The same encoding with `scaling=none`, where it has that parameter, and with all others that it then takes."""
    given = encoding.parameters_given
    if given.get("scaling", "none") == "none":
        return encoding
    kept = {"scaling": "none"}
    made = effects.make(name, kept, setting)
    for key, value in given.items():
        if key != "scaling":
            try:
                made, kept = effects.make(name, kept | {key: value}, setting), kept | {key: value}
            except InputError:  # only some scaling reads it
                continue
    return made.eval()
