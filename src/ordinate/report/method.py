"""How a comparison was made, in sentences: what a reader would otherwise have to look up, or object to."""

from collections.abc import Mapping
from itertools import combinations
from statistics import correlation
from typing import Any

from ordinate.results.comparison import Comparison
from ordinate.statistics.distributions import quantile
from ordinate.statistics.phrases import counted
from ordinate.statistics.types import Analysis, TaskAnalysis

MOST_CORRELATED = 30  # encodings of a task whose scores are correlated

FAMILY = (
    "All tests of all pairs, endpoints and tasks are one family, corrected together, so that adding encodings or tasks "
    "makes every claim harder."
)


def method(comparison: Comparison) -> list[str]:
    """From the settings that all tasks share; a file of results has none, and only its tests are described."""
    find = _CommonSetting(comparison.settings)
    lines = [*_models(find), *_training(comparison, find), *_tuning(comparison), *_evaluation(comparison, find)]
    tested = any(task.pairs for task in comparison.analysis.tasks)
    return [*lines, *two_samples(comparison.analysis), *([FAMILY] if tested else [])]


def two_samples(analysis: Analysis) -> list[str]:
    """Why seeds that encodings share are not compared seed by seed."""
    seeds = max((len(task.seeds) for task in analysis.tasks), default=0)
    found = [value for task in analysis.tasks for value in seed_correlations(task)]
    if seeds < 3 or not found:
        return []
    # A paired test has half the degrees of freedom: this is where its narrower spread makes up for that.
    gain = 1 - (quantile(0.975, 2.0 * seeds - 2) / quantile(0.975, seeds - 1.0)) ** 2
    return [
        "Seeds are shared, so that all encodings see the same data, but the tests are two-sample: comparing seed by "
        f"seed halves the degrees of freedom, which with {seeds} seeds pays only if scores that share a seed have a "
        f"correlation above about {gain:.2f} (here it is {sum(found) / len(found):.2f} on average, over "
        f"{counted(len(found), 'pair')} of encodings). Where they do go together, a two-sample test claims less, not "
        "more."
    ]


def seed_correlations(task: TaskAnalysis) -> list[float]:
    """Of the scores on the headline range that share a seed, for each pair of encodings in which both vary."""
    scores = {}
    for cell in task.shown.cells:
        own = {seed: score for seed, score in zip(cell.seeds, cell.scores, strict=True) if score is not None}
        if len(own) == len(task.seeds) > 2 and len(set(own.values())) > 1:
            scores[cell.encoding] = [own[seed] for seed in task.seeds]
    few = list(scores.values())[:MOST_CORRELATED]
    return [correlation(one, two) for one, two in combinations(few, 2)]


class _CommonSetting:
    """A setting, if all tasks have the same."""

    def __init__(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        self.settings = list(settings.values())

    def __call__(self, *keys: str) -> Any:
        values = []
        for own in self.settings:
            value: Any = own
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) else None
            values.append(value)
        return values[0] if values and all(value == values[0] for value in values) else None


def _models(find: _CommonSetting) -> list[str]:
    layers, heads, dim = (find("model", name) for name in ("layers", "heads", "dim"))
    if None in (layers, heads, dim):
        return []
    return [
        f"Models are transformers of {counted(layers, 'layer')}, {counted(heads, 'head')} and width {dim}; compared "
        "models differ in their encoding only."
    ]


def _training(comparison: Comparison, find: _CommonSetting) -> list[str]:
    steps, batch, budget = find("steps"), find("batch"), find("budget")
    if steps is None or batch is None:
        return []
    text = f"A run trains on batches of {batch} sequences for at most {steps:,} steps"
    if budget == "learned":
        text += (
            ": until it reaches the bar on the validation set, and then for as many steps again while the learning "
            "rate decays"
        )
    lines = [f"{text}."]
    if budget == "learned" and comparison.sweeps:
        from ordinate.studies.plan import HOPELESS

        lines.append(
            f"Where no pilot of an encoding learns the task, its budget ends at {HOPELESS} times the steps that the "
            "fastest pilot of any encoding took, so that what is said of it holds for that budget only."
        )
    return lines


def _tuning(comparison: Comparison) -> list[str]:
    rates = sorted({point.rate for sweep in comparison.sweeps for point in sweep.points})
    if not rates:
        return ["One learning rate was used for all encodings, without tuning."] if comparison.runs else []
    tried = ", ".join(f"{rate:g}" for rate in rates)
    return [
        f"The learning rate of each encoding is the best of {tried} (not all were tried for every encoding) on a pilot "
        "seed that is never reported, by its validation score in distribution; rates that tie are dealt out over the "
        "reported seeds."
    ]


def _evaluation(comparison: Comparison, find: _CommonSetting) -> list[str]:
    sequences = find("evaluation_sequences")
    if sequences is None:
        return []
    return [
        f"Each length is scored on {sequences:,} problems that are the same for all encodings and seeds, and come from "
        "another random stream than those of training; what few of them training showed by accident is an alarm."
    ]


def provenance(comparison: Comparison) -> str:
    """When, with which versions and on what kind of machine the runs were made; empty if that is unknown."""
    parts = []
    days = sorted(run.started[:10] for run in comparison.runs if run.started)
    finished = sum(run.seconds is not None for run in comparison.runs)
    if finished:
        parts.append(f"{counted(finished, 'run')}")
    if days:
        span = f"on {days[0]}" if days[0] == days[-1] else f"from {days[0]} to {days[-1]}"
        parts.append(f"started {span},")
    machine = comparison.machine
    if machine is not None:
        cores = f", {counted(machine.cores, 'core')}" if machine.cores else ""
        first = "the first of them " if finished > 1 else ""
        parts.append(f"{first}with Ordinate {machine.ordinate}, torch {machine.torch} and Python {machine.python}")
        parts.append(f"on {machine.processor or 'an unnamed processor'}{cores} ({machine.platform.split('-')[0]})")
    return f"{' '.join(parts).rstrip(',')}." if parts else ""
