"""Pictures of comparisons of language models: loss by context, by position and by tokens, with seeds as thin lines."""

import math
from collections.abc import Callable
from dataclasses import replace

from ordinate.report.chart import Chart, Figure, file_names
from ordinate.report.colors import styles
from ordinate.report.seed_curves import SEEDS, Curve, seed_chart, seed_series
from ordinate.results.lm_record import LanguageModelRecord
from ordinate.studies.lm.outcome import LMOutcome, context_losses
from ordinate.studies.lm.study import LMPartOutcome, LMStudyOutcome


def figures(outcome: LMStudyOutcome) -> tuple[Figure, ...]:
    """Of every part that has results."""
    found = []
    for part in outcome.parts:
        for make in (by_context, by_position, learning):
            chart = make(part.found)
            if chart is not None:
                found.append(_titled(chart, part) if len(outcome.parts) > 1 else chart)
    names = file_names(chart.name for chart in found)
    return tuple(replace(chart, name=names[chart.name]) for chart in found)


def _titled(chart: Chart, part: LMPartOutcome) -> Chart:
    return replace(chart, name=f"{part.part.name} {chart.name}", title=f"{part.part.name}: {chart.title}")


def by_context(found: LMOutcome) -> Chart | None:
    """The loss of long documents at every context."""
    arms = {arm.name: arm for arm in found.comparison.arms}

    def curve(arm: str, record: LanguageModelRecord) -> Curve:
        own = context_losses(record.evaluation, arms[arm], found.comparison)
        return {context: losses.per_token for context, losses in own.items() if losses is not None}

    how = "Windows restart." if found.comparison.protocol == "disjoint" else "The same tokens at every context."
    curves, length = _curves(found, curve), found.comparison.length
    return seed_chart(curves, "loss by context", "Loss by context", "context (tokens)", f"{how} {SEEDS}", length)


def by_position(found: LMOutcome) -> Chart | None:
    """The loss of a token against the number of tokens before it: where the cliff is."""

    def curve(arm: str, record: LanguageModelRecord) -> Curve:
        return {math.sqrt(row.first * row.last): row.losses.per_token for row in record.evaluation.positions}

    if found.comparison.protocol != "disjoint":  # scalings are not evaluated by position
        return None
    note = f"Windows of the trained length up to there, of the longest context past it. {SEEDS}"
    curves, length = _curves(found, curve), found.comparison.length
    return seed_chart(curves, "loss by position", "Loss by position", "tokens before the scored one", note, length)


def learning(found: LMOutcome) -> Chart | None:
    """The training loss by tokens."""

    def curve(arm: str, record: LanguageModelRecord) -> Curve:
        return dict(zip(map(float, record.curve_tokens), record.curve_losses, strict=True))

    curves = _curves(found, curve)
    series = seed_series(curves, styles(curves), band=False)
    title, x, note = "Training loss", "tokens trained on", "Means; every seed is drawn behind them."
    return Chart("training loss", title, x, "loss (nats per token)", series, note=note) if series else None


def _curves(found: LMOutcome, curve: Callable[[str, LanguageModelRecord], Curve]) -> dict[str, list[Curve]]:
    """Of every arm, those of its seeds that have one."""
    return {
        arm: [own for record in found.of(arm).values() if (own := curve(arm, record))] for arm in found.comparison.names
    }
