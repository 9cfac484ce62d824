"""Pictures of what probes measured, for the page of a probe and for the app."""

from collections.abc import Iterator, Mapping, Sequence

from ordinate.probes.encoding_probe import EncodingProbe
from ordinate.probes.head_names import NamedHead
from ordinate.probes.learned_parameters import Effect
from ordinate.probes.model_probe import ModelProbe, OwnModelProbe
from ordinate.report.chart import Chart, Figure, Number, Series, Shade, six_digits
from ordinate.report.colors import DASHES, GRAY, MARKERS, PALETTE, Style
from ordinate.report.model_probe_words import intervention_words, role_words

MOST_CURVES = 8
MOST_COSTS = 24  # rows of a picture
MOST_EFFECTS = 4  # heads of one learned effect
PLACED = ("offset", "first", "uniform")  # roles whose score is a weight
DISTANCES = 64  # that are drawn of attention by distance

BY_DISTANCE = "Mean weight on the key so many positions back, over queries that have one, at the trained length."
BY_LENGTH = "How fully each head does at other lengths what it does at the trained one: the weight on its place."
READERS = (
    "How much of a token's position (R²) a linear reader recovers from the hidden state, on sequences it was not fitted"
    " to; distance: of two tokens, from both states and their product. Gray: the same model before training."
)
RANK = (
    "Effective rank of a sequence's hidden states, the exponential of the entropy of their singular values: 1 if all"
    " tokens are alike. Gray: before training."
)
COSTS = "How much of the score is lost when only this is changed in the trained model, on the same sequences."
NORMS = "Norm of the gradient of the whole model, as the run recorded it."
STEPS = "Distance between the vectors of neighbors, in units of the mean norm. Peaks are jumps."
ALIKE = "Mean cosine of the vectors of two positions, by their distance."
SCORES = (
    "Scores of a query with keys of equal and of random content, by distance; the band is one standard deviation over"
    " contents."
)
_EFFECTS: dict[Effect, tuple[str, str, str]] = {
    "bias": ("Bias by distance, before and after training", "positions back from the query", "bias"),
    "wavelength": ("Wavelength of each channel, before and after training", "channel", "positions per turn"),
    "norm": ("Norm of the added vector, before and after training", "position", "norm"),
}


def run_probe_figures(probe: OwnModelProbe) -> tuple[Figure, ...]:
    """All pictures of a run's probes that have something to show."""
    return (*model_probe_figures(probe), *_norms(probe), *_effects(probe))


def model_probe_figures(probe: ModelProbe) -> tuple[Figure, ...]:
    """Attention, interventions and hidden states of any model."""
    return (_by_distance(probe), *_costs(probe), *_by_length(probe), *_by_depth(probe))


def encoding_probe_figures(probe: EncodingProbe) -> tuple[Figure, ...]:
    """Pictures of an encoding's probes; those of its vectors, angles and biases are `encoding_figures`."""
    charts = []
    shade = Shade(0, probe.length - 1, "trained")
    if probe.vectors is not None:
        for name, title, x, y, note, values in (
            ("steps", "Steps from a position to the next", "position", "step", STEPS, probe.vectors.steps),
            ("alike", "Similarity by distance", "distance", "cosine", ALIKE, probe.vectors.similarity),
        ):
            line = Series(name, *_points(values), _style(0), "curve")
            charts.append(Chart(name, title, x, y, (line,), shade=shade, note=note))
    if probe.scores is not None:
        series = tuple(
            _banded(label, content.mean, content.std, _style(index))
            for index, (label, content) in enumerate(
                {"equal content": probe.scores.equal, "random content": probe.scores.random}.items()
            )
        )
        title, x = "Score by distance, equal and random content", "positions back from the query"
        charts.append(Chart("content", title, x, "score", series, shade=shade, note=SCORES))
    return tuple(charts)


def _style(index: int) -> Style:
    return Style(PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)], MARKERS[index % len(MARKERS)])


def _points(values: Sequence[Number], first: int = 0) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
    return tuple(float(first + index) for index in range(len(values))), tuple(map(six_digits, values))


def _banded(label: str, mean: Sequence[Number], std: Sequence[Number], style: Style) -> Series:
    x, y = _points(mean)
    low, high = (
        tuple(None if m is None or s is None else six_digits(m + sign * s) for m, s in zip(mean, std, strict=True))
        for sign in (-1, 1)
    )
    return Series(label, x, y, style, "curve", label, low, high)


def _label(head: NamedHead) -> str:
    return f"{head.layer}.{head.head} {role_words(head)}"


def _shown_heads(probe: ModelProbe) -> list[NamedHead]:
    """The heads that are most fixed on what they do, by layer."""
    fullest = sorted(probe.heads, key=lambda head: -head.score[probe.length])[:MOST_CURVES]
    return [head for head in probe.heads if head in fullest]


def _by_distance(probe: ModelProbe) -> Chart:
    series = []
    patterns = {(each.layer, each.head): each for each in probe.attention[probe.length]}
    for index, head in enumerate(_shown_heads(probe)):
        pattern = patterns[head.layer, head.head]
        last = min(DISTANCES, len(pattern.by_distance) + pattern.first_distance)
        first = max(pattern.first_distance, -DISTANCES)
        x, y = _points([pattern.at(distance) for distance in range(first, last)], first)
        series.append(Series(_label(head), x, y, _style(index), "mean", _label(head)))
    return Chart(
        "attention by distance", f"Attention by distance, length {probe.length}", "positions back from the query",
        "mean weight", tuple(series), note=BY_DISTANCE,
    )  # fmt: skip


def _by_length(probe: ModelProbe) -> Iterator[Chart]:
    placed = [head for head in _shown_heads(probe) if len(head.score) > 1 and head.role in PLACED]
    if not placed:
        return
    series = []
    for index, head in enumerate(placed):
        lengths = sorted(head.score)
        x, y = tuple(map(float, lengths)), tuple(six_digits(head.score[length]) for length in lengths)
        series.append(Series(_label(head), x, y, _style(index), "mean", _label(head)))
    yield Chart(
        "heads by length", "What heads do at other lengths", "length", "weight", tuple(series),
        shade=Shade(min(probe.lengths), probe.length, "trained"), x_ticks=tuple(map(float, probe.lengths)),
        y_range=(-0.03, 1.08), note=BY_LENGTH,
    )  # fmt: skip


def _by_depth(probe: ModelProbe) -> Iterator[Chart]:
    ticks = tuple(float(layer.depth) for layer in probe.layers)

    def chart(name: str, title: str, y: str, note: str, *measures: str) -> Chart:
        series = []
        for index, measure in enumerate(measures):
            values = [
                tuple(six_digits(getattr(state, measure)) for state in states)
                for states in zip(*((layer.trained, layer.untrained) for layer in probe.layers), strict=True)
            ]
            words = measure.replace("_", " ")
            gray = Style(GRAY, _style(index).dash)
            series.append(Series(f"{words}, untrained", ticks, values[1], gray, "reference", f"{words}, untrained"))
            series.append(Series(words, ticks, values[0], _style(index), "mean", words))
        return Chart(name, title, "after layer (0: its input)", y, tuple(series), x_ticks=ticks, note=note)

    yield chart("position by layer", "Position by layer", "R²", READERS, "position", "distance")
    yield chart("rank by layer", "Effective rank by layer", "effective rank", RANK, "effective_rank")


def _costs(probe: ModelProbe) -> Iterator[Chart]:
    """One row per intervention, the most costly at the top."""
    done = [each for each in probe.interventions if each.cost is not None]
    if not done:
        return
    top = sorted(done, key=lambda each: -(each.cost or 0.0))[:MOST_COSTS]
    kinds = list(dict.fromkeys(each.kind for each in done))
    rows = {id(each): float(len(top) - index) for index, each in enumerate(top)}
    series = []
    for index, kind in enumerate(kinds):
        own = [each for each in top if each.kind == kind]
        x = tuple(six_digits(each.cost) for each in own)
        series.append(Series(kind, x, tuple(rows[id(each)] for each in own), _style(index), "points", kind))
    ticks = tuple((rows[id(each)], intervention_words(each)) for each in top)
    title = f"increase of {probe.metric}" if top[0].lower_is_better else "loss of score"
    yield Chart(
        "interventions", "What interventions cost", title, "", tuple(series), y_ticks=ticks,
        y_range=(0.4, len(top) + 0.6), note=COSTS,
    )  # fmt: skip


def _norms(probe: OwnModelProbe) -> Iterator[Chart]:
    if len(probe.gradient_norms) > 1:
        x, y = (tuple(map(six_digits, values)) for values in zip(*probe.gradient_norms, strict=True))
        series = (Series("gradient norm", x, y, _style(0), "curve"),)
        yield Chart("gradient norm", "Gradient norm through training", "step", "norm", series, note=NORMS)


def _effects(probe: OwnModelProbe) -> Iterator[Chart]:
    for effect, (title, x_title, y_title) in _EFFECTS.items():
        own = [each for each in probe.effects if each.effect == effect]
        groups: Mapping[str, list[int]] = {name: [] for name in dict.fromkeys(each.encoding for each in own)}
        for index, each in enumerate(own):
            groups[each.encoding].append(index)
        for name, indices in groups.items():
            series = []
            for turn, index in enumerate(indices[:MOST_EFFECTS]):
                each = own[index]
                label = f"head {each.head}" if each.head else "after"
                gray = Style(GRAY, _style(turn).dash)
                series.append(Series(f"{label}, before", *_points(each.before), gray, "reference", f"{label}, before"))
                series.append(Series(label, *_points(each.after), _style(turn), "curve", label))
            note = "Gray: before training."
            yield Chart(f"{name} {effect}", f"{name}: {title}", x_title, y_title, tuple(series), note=note)
