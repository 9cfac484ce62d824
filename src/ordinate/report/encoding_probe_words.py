"""What the probes of an encoding found, one sentence for each."""

from collections.abc import Iterator

from ordinate.core.encoding import EXTRAPOLATION, FAMILIES
from ordinate.probes.encoding_probe import EncodingProbe
from ordinate.probes.position_vectors import VectorProbe
from ordinate.probes.score_distance import ScoreProbe, WavelengthProbe

EXACT = 1e-5  # a residual below this is rounding
SAME = 1e-6  # vectors no farther apart are equal
JUMP = 1.5  # times the median step
FADED = 0.1  # of a score: what changes less stays

Line = tuple[str, str]  # what was asked, and the answer


def encoding_lines(probe: EncodingProbe) -> list[Line]:
    """On one screen of a terminal."""
    return [
        ("Does", _does(probe)),
        *(_vector_lines(probe.vectors) if probe.vectors else ()),
        *(_score_lines(probe.scores, probe) if probe.scores else ()),
        *(_wave_lines(probe.wavelengths) if probe.wavelengths else ()),
        ("Past the length", _past(probe)),
    ]


def _does(probe: EncodingProbe) -> str:
    kind = FAMILIES.get(probe.family, "several things at once")
    trained = "; measured as it is before training" if probe.trained else ""
    moved = "moving all positions together changes nothing" if probe.shift_invariant else "absolute positions matter"
    return f"{kind}; {moved}{trained}"


def _vector_lines(vectors: VectorProbe) -> Iterator[Line]:
    matched = abs(vectors.by_definition - vectors.norm_ratio) > 0.05 * vectors.norm_ratio
    yield (
        "Size",
        f"{vectors.norm_ratio:.2f} times a token embedding" + f" ({vectors.by_definition:.2f} by definition)" * matched,
    )
    one, other = vectors.nearest
    if vectors.smallest_distance < SAME:
        yield "Uniqueness", f"positions {one} and {other} have the same vector: nothing tells them apart"
    else:
        yield (
            "Uniqueness",
            f"every position has its own vector; the closest, {one} and {other}, are {vectors.smallest_distance:.2f}"
            " of a norm apart",
        )
    at, jump = vectors.largest_step
    if jump > JUMP:
        yield "Smoothness", f"it jumps: the step from {at} to {at + 1} is {jump:.1f} times the median step"
    else:
        yield "Smoothness", f"steps are even: the largest is {jump:.2f} times the median step"
    far = len(vectors.similarity) - 1
    some = [distance for distance in (1, 8, 64, 256) if distance < far] + [far]
    yield "Similarity", "cosine " + ", ".join(f"{vectors.similarity[r]:.2f} at distance {r}" for r in some)
    yield "Shift", _shift(vectors)
    yield (
        "Linear reader",
        f"recovers {_share(vectors.position_read)} of position and {_share(vectors.distance_read)} of relative position"
        " (R² on positions it was not fitted to)",
    )


def _shift(vectors: VectorProbe) -> str:
    found = vectors.shift_residual
    if not found:
        return "not measurable: there are fewer positions than twice the width, and a linear map fits any so few"
    each = ", ".join(f"{residual:.2g} by {shift}" for shift, residual in found.items())
    if max(found.values()) < EXACT:
        return f"one linear map moves every position (residual {each})"
    return f"no linear map moves every position (residual {each})"


def _score_lines(scores: ScoreProbe, probe: EncodingProbe) -> Iterator[Line]:
    far = probe.reach - 1
    if (ends := scores.equal.mean_ends) is not None:
        yield "Equal content", f"mean score {ends[0]:.2f} near, {ends[1]:.2f} at distance {far}: {_trend(*ends)}"
    means, sizes = scores.random.mean_ends, scores.random.std_ends
    if means is not None and sizes is not None:
        yield (
            "Random content",
            f"mean score {means[0]:.2f} near, {means[1]:.2f} at distance {far}; size {sizes[0]:.2f} near,"
            f" {sizes[1]:.2f} there: {_random_trend(means, sizes)}",
        )
    if scores.bias:
        ends_of = [(head[1], head[-1]) for head in scores.bias if head[1] is not None and head[-1] is not None]
        if ends_of:
            steepest, flattest = (pick(ends_of, key=lambda pair: pair[1] - pair[0]) for pick in (min, max))
            text = f"from {steepest[0]:.3g} at 1 to {steepest[1]:.3g} at {far} in the steepest head"
            flat = f", from {flattest[0]:.3g} to {flattest[1]:.3g} in the flattest" if len(ends_of) > 1 else ""
            yield "Bias", text + flat
    if scores.distance_read is not None:
        yield "Linear reader", f"recovers {_share(scores.distance_read)} of distance from what each part adds to scores"


def _trend(near: float, far: float) -> str:
    if far < near - FADED * max(abs(near), 1.0):
        return "equal contents score lower the farther they are"
    if far > near + FADED * max(abs(near), 1.0):
        return "equal contents score higher the farther they are"
    return "distance does not matter"


def _random_trend(means: tuple[float, float], sizes: tuple[float, float]) -> str:
    if means[1] < means[0] - FADED:
        return "scores decay with distance"
    if sizes[1] < (1 - FADED) * sizes[0]:
        return "scores fade with distance"
    return "scores do not decay with distance"


def _wave_lines(waves: WavelengthProbe) -> Iterator[Line]:
    turning = [wave for wave in waves.after if wave]
    text = f"{min(turning):.3g} to {max(turning):.3g} positions per turn; {waves.whole_turns(waves.after)} of"
    text += f" {len(waves.after)} channels turn at least once within {waves.length} positions"
    if waves.before != waves.after:
        old = [wave for wave in waves.before if wave]
        text += f" (before scaling: {min(old):.3g} to {max(old):.3g}, {waves.whole_turns(waves.before)} channels)"
    yield "Wavelengths", text


def _past(probe: EncodingProbe) -> str:
    text = f"{probe.extrapolation}: {EXTRAPOLATION[probe.extrapolation]}"
    vectors = probe.vectors
    if vectors is None:
        return text
    inside = vectors.trained
    text += f"; values {inside.lowest:.2g} to {inside.highest:.2g} within"
    if vectors.past is not None:
        past = vectors.past
        text += f", {past.lowest:.2g} to {past.highest:.2g} past it at {past.size:.2f} times the norm"
    return text


def _share(determination: float) -> str:
    return "nothing" if determination < 0.005 else f"{determination:.2f}"
