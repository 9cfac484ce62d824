"""How language models trained: losses by tokens, one curve for each, or the mean of the seeds of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ordinate.report.chart import Chart, Look, Series, short, thin
from ordinate.report.curves import MOST_POINTS
from ordinate.report.run_figures import run_styles, smooth
from ordinate.report.seed_curves import seed_series

FEW = 25  # points that are seen as points
TITLES = {
    "loss": ("Training loss", "loss (nats per token)"),
    "valid_loss": ("Validation loss", "loss (nats per token)"),
    "bits_per_byte": ("Validation, bits per byte", "bits per byte"),
}


@dataclass(frozen=True)
class TrainingCurve:
    """A model, and its metrics by tokens."""

    name: str
    group: str  # the same for other seeds of the same model
    group_name: str
    encoding: str
    points: Mapping[str, Sequence[tuple[int, float]]]
    under_way: bool = False


def group_labels(curves: Sequence[TrainingCurve]) -> dict[str, str]:
    """For each group its encoding, where that tells it from the others; else a name that no other has."""
    first = {curve.group: curve for curve in reversed(curves)}
    labels: dict[str, str] = {}
    for group, curve in first.items():
        alike = [other for other in first.values() if other.encoding == curve.encoding]
        same = [other for other in alike if other.group_name == curve.group_name]
        own = curve.encoding if len(alike) == 1 else curve.group_name if len(same) == 1 else None
        labels[group] = own or f"{curve.group_name} {group[:4]}"
    return labels


def by_tokens(curves: Sequence[TrainingCurve], metric: str, *, grouped: bool, smoothing: float = 0.0) -> Chart | None:
    """One metric of all models that have a point of it."""
    shown = [curve for curve in curves if curve.points.get(metric)]
    if not shown:
        return None
    series = _grouped(shown, metric, smoothing) if grouped else _each(shown, metric, smoothing)
    title, y_title = TITLES[metric]
    notes = ["Thin: every seed. Thick: their mean, where all have a value."] if grouped else []
    notes += ["Thin: before smoothing."] if smoothing > 0 and not grouped else []
    notes += ["Large points: under way."] if any(one.look == "points" for one in series) else []
    return Chart(metric, title, "tokens trained on", y_title, series, note=" ".join(notes))


def _each(curves: Sequence[TrainingCurve], metric: str, smoothing: float) -> tuple[Series, ...]:
    """A curve for each model, in the color of its encoding."""
    behind, front, now = [], [], []
    for curve, style in zip(curves, run_styles([curve.encoding for curve in curves]), strict=True):
        x, raw = zip(*curve.points[metric], strict=True)
        at, label = thin(len(x), MOST_POINTS), short(curve.name)
        tokens = tuple(x[i] for i in at)
        if smoothing > 0:
            own = tuple(raw[i] for i in at)
            behind.append(Series(curve.name, tokens, own, style, "seed", group=curve.name))
        values = smooth(raw, smoothing) if smoothing > 0 else raw
        look: Look = "mean" if len(x) <= FEW else "curve"
        front.append(Series(curve.name, tokens, tuple(values[i] for i in at), style, look, label, group=curve.name))
        if curve.under_way:
            end = f"{curve.name}, under way"
            now.append(Series(end, x[-1:], values[-1:], style, "points", group=curve.name))
    return (*behind, *front, *now)


def _grouped(curves: Sequence[TrainingCurve], metric: str, smoothing: float) -> tuple[Series, ...]:
    """Seeds behind the mean of each group."""
    labels = group_labels(curves)
    looks = dict(zip(labels.values(), run_styles([_encoding(curves, group) for group in labels]), strict=True))
    every = sorted({tokens for curve in curves for tokens, _ in curve.points[metric]})
    kept = {every[index] for index in thin(len(every), MOST_POINTS)}  # the same of all seeds
    found: dict[str, list[dict[float, float]]] = {label: [] for label in labels.values()}
    for curve in curves:
        x, y = zip(*curve.points[metric], strict=True)
        values = zip(x, smooth(y, smoothing) if smoothing > 0 else y, strict=True)
        found[labels[curve.group]].append({float(at): v for at, v in values if at in kept and v is not None})
    series = seed_series(found, looks, band=False)
    few = len(kept) <= FEW
    return tuple(replace(one, look="mean") if few and one.look == "curve" else one for one in series)


def _encoding(curves: Sequence[TrainingCurve], group: str) -> str:
    return next(curve.encoding for curve in curves if curve.group == group)
