"""What the models of the depth study are called, and where something is so among them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ordinate.probes.layer_measures import DepthMeasures
from ordinate.report.chart import Chart, Look, Series
from ordinate.report.colors import GRAY, Style, styles
from ordinate.report.table import Column, Table
from ordinate.statistics.phrases import listed
from ordinate.studies.depth_runs import DepthModel, DepthRun

Runs = Mapping[DepthModel, list[DepthRun]]


@dataclass(frozen=True)
class Answer:
    """One claim: how it is measured, what was found, and the numbers. verdict: none if nothing was run."""

    title: str
    measure: str
    verdict: str | None
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    waiting: str = ""


PLACES = {"pre": "norms before each branch", "post": "norms after each branch", "none": "no norms"}


def block_words(model: DepthModel) -> str:
    """`norms after each branch, no residuals`."""
    return f"{PLACES[model.norm_place]}, {'residuals' if model.residual else 'no residuals'}"


def label(model: DepthModel) -> str:
    """`rope, 16 layers, norms after each branch, no residuals`."""
    layers = f"{model.layers} layer{'s' * (model.layers > 1)}"
    return ", ".join([model.encoding, layers] + [block_words(model)] * (not model.usual))


_ATTRIBUTES: dict[str, Callable[[DepthModel], tuple[str, str]]] = {
    "residual": lambda m: ("with residuals" if m.residual else "without residuals", ""),
    "norm": lambda m: (
        {"pre": "with norms before each branch", "post": "with norms after each branch", "none": "without norms"}[
            m.norm_place
        ],
        "",
    ),
    "layers": lambda m: (f"at {m.layers} layer{'s' * (m.layers > 1)}", ""),
    "encoding": lambda m: (f"with {m.encoding}", ""),
}


def split(found: Mapping[DepthModel, bool]) -> str:
    """Where something is so: `in all 6 models`, `in none of 6`, `only without residuals`, or the models by name."""
    so = [model for model, yes in found.items() if yes]
    if len(so) == len(found):
        return f"in all {len(found)} models" if len(found) > 1 else "in the one model"
    if not so:
        return f"in none of {len(found)} models" if len(found) > 1 else "not in the one model"
    for names in (("residual",), ("norm",), ("encoding",), ("layers",), ("residual", "norm"), ("norm", "encoding")):
        values = {model: tuple(_ATTRIBUTES[name](model)[0] for name in names) for model in found}
        chosen = {values[model] for model in so}
        if all((values[model] in chosen) == yes for model, yes in found.items()):
            return "only " + listed([" and ".join(parts) for parts in sorted(chosen)], "or")
    if len(so) <= 4:
        return f"in {len(so)} of {len(found)} models ({'; '.join(map(label, so))})"
    rest = [model for model, yes in found.items() if not yes]
    if len(rest) <= 4:
        return f"in {len(so)} of {len(found)} models (not {'; '.join(map(label, rest))})"
    return f"in {len(so)} of {len(found)} models"


def verdict(found: Mapping[DepthModel, bool], what: str) -> str:
    """`Holds: the gradient vanishes in all 6 models.`"""
    word = "Holds" if all(found.values()) else "Does not hold" if not any(found.values()) else "Holds in part"
    return f"**{word}**: {what} {split(found)}."


def measured(runs: Runs, wanted: Callable[[DepthModel], bool]) -> dict[DepthModel, list[DepthRun]]:
    """The models that were measured by depth."""
    kept = {m: [run for run in own if run.measures] for m, own in runs.items() if wanted(m)}
    return {model: own for model, own in kept.items() if own}


def over_seeds(
    runs: Sequence[DepthRun], trained: bool, read: Callable[[DepthMeasures], Sequence[float]]
) -> list[float]:
    """The mean over seeds of one number for each depth or layer."""
    each = [read(run.measures.trained if trained else run.measures.untrained) for run in runs if run.measures]
    return [fmean(values) for values in zip(*each, strict=True)]


def deep(model: DepthModel) -> bool:
    return model.layers == 16 and model.dataset is None


def at_depths(values: Sequence[float]) -> list[float | None]:
    """At the input, and after layers 1, 4, 8 and 16."""
    return [values[depth] if depth < len(values) else None for depth in (0, 1, 4, 8, 16)]


DEPTHS = tuple(Column(f"after {d}", "input" if d == 0 else f"after {d}", ".2f") for d in (0, 1, 4, 8, 16))
NAMED = (Column("encoding", "encoding"), Column("blocks", "blocks"))


def by_depth(
    name: str, title: str, y: str, models: Mapping[DepthModel, list[DepthRun]],
    read: Callable[[DepthMeasures], Sequence[float]], first: int = 0,
) -> Chart:  # fmt: skip
    """One curve per model: usual blocks of every encoding."""
    usual = {model: own for model, own in models.items() if model.usual}
    looks, series = styles([model.encoding for model in usual]), list[Series]()
    for model, own in usual.items():
        for trained in (False, True):
            values = over_seeds(own, trained, read)
            style = looks[model.encoding] if trained else Style(GRAY, looks[model.encoding].dash)
            text = model.encoding if trained else "before training" if not series else ""
            x = tuple(float(first + index) for index in range(len(values)))
            look: Look = "mean" if trained else "reference"
            series.append(Series(text or "before training", x, tuple(values), style, look, text))
    return Chart(name, title, "after layer" if first == 0 else "layer", y, tuple(series))
