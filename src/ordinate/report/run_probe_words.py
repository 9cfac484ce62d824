"""What the probes of a run found: what can be said of any model, then its frequencies, parameters and gradients."""

from collections.abc import Iterator

from ordinate.probes.model_probe import OwnModelProbe
from ordinate.report.encoding_probe_words import Line
from ordinate.report.model_probe_words import MOST_NAMED, cost_words, model_lines
from ordinate.statistics.phrases import counted


def run_lines(probe: OwnModelProbe) -> list[Line]:
    """On one screen of a terminal."""
    return [*model_lines(probe), *_bands(probe), *_learned(probe), ("Gradients", _gradients(probe))]


def _bands(probe: OwnModelProbe) -> Iterator[Line]:
    found = [each for each in probe.interventions if each.kind == "band removed"]
    if found:
        yield "Frequencies", "without " + ", ".join(f"{each.name} it loses {cost_words(each)}" for each in found)


def _learned(probe: OwnModelProbe) -> Iterator[Line]:
    if probe.parameters:
        some = probe.parameters[: MOST_NAMED // 2]
        parts = [f"{each.name} {each.before:.3g} to {each.after:.3g} (change {each.change:.3g})" for each in some]
        rest = len(probe.parameters) - len(parts)
        yield (
            "Parameters",
            "root mean square of " + "; ".join(parts) + f"; {counted(rest, 'parameter')} more" * (rest > 0),
        )


def _gradients(probe: OwnModelProbe) -> str:
    now = ", ".join(f"{norm:.2g}" for norm in probe.gradients.layers)
    start = ", ".join(f"{norm:.2g}" for norm in probe.untrained_gradients.layers)
    text = f"norm by layer {now}; untrained {start}"
    if probe.gradients.encoding:
        some = list(probe.gradients.encoding.items())[: MOST_NAMED // 2]
        text += "; into " + ", ".join(f"{name} {norm:.2g}" for name, norm in some)
    return text
