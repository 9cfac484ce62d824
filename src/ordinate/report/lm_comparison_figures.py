"""Pictures of comparisons of language models: loss by context, by position and by tokens, with seeds as thin lines."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ordinate.report.chart import Chart, Figure, Number, Series, Shade, file_names
from ordinate.report.colors import Style, styles
from ordinate.results.lm_record import LanguageModelRecord
from ordinate.statistics.interval import interval
from ordinate.studies.lm.outcome import LMOutcome, context_losses
from ordinate.studies.lm.study import LMPartOutcome, LMStudyOutcome

Curve = dict[float, float]  # loss by context, position or tokens
SEEDS = "Means with 95 % intervals over seeds; every seed is drawn behind them."


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
    return _chart(found, curve, "loss by context", "Loss by context", "context (tokens)", f"{how} {SEEDS}")


def by_position(found: LMOutcome) -> Chart | None:
    """The loss of a token against the number of tokens before it: where the cliff is."""

    def curve(arm: str, record: LanguageModelRecord) -> Curve:
        return {math.sqrt(row.first * row.last): row.losses.per_token for row in record.evaluation.positions}

    if found.comparison.protocol != "disjoint":  # scalings are not evaluated by position
        return None
    note = f"Windows of the trained length up to there, of the longest context past it. {SEEDS}"
    return _chart(found, curve, "loss by position", "Loss by position", "tokens before the scored one", note)


def learning(found: LMOutcome) -> Chart | None:
    """The training loss by tokens."""

    def curve(arm: str, record: LanguageModelRecord) -> Curve:
        return dict(zip(map(float, record.curve_tokens), record.curve_losses, strict=True))

    chart = _chart(found, curve, "training loss", "Training loss", "tokens trained on", SEEDS, band=False)
    return chart and replace(chart, shade=None, x_ticks=(), log_x=False)


def _chart(
    found: LMOutcome,
    curve: Callable[[str, LanguageModelRecord], Curve],
    name: str,
    title: str,
    x_title: str,
    note: str,
    *,
    band: bool = True,
) -> Chart | None:
    looks = styles(found.comparison.names)
    behind, front = [], []
    for arm in found.comparison.names:
        curves = [own for record in found.of(arm).values() if (own := curve(arm, record))]
        if curves:
            behind.append(_seeds(arm, curves, looks[arm]))
            front.append(_mean(arm, curves, looks[arm], band=band))
    if not front:
        return None
    x = sorted({value for one in front for value in one.x if value is not None})
    low, high = (round(math.log2(max(end, 1))) for end in (x[0], x[-1]))
    length = found.comparison.length
    return Chart(
        name, title, x_title, "loss (nats per token)", (*behind, *front), log_x=True,
        x_ticks=tuple(2.0**power for power in range(low, high + 1)),
        shade=Shade(min(x[0], length), length, f"trained to {length:,}"), note=note,
    )  # fmt: skip


def _seeds(arm: str, curves: Sequence[Curve], style: Style) -> Series:
    """All seeds as one bundle, with a gap between each two."""
    x: list[Number] = []
    y: list[Number] = []
    for curve in curves:
        x += [*sorted(curve), None]
        y += [*(curve[at] for at in sorted(curve)), None]
    return Series(f"{arm}, seeds", tuple(x), tuple(y), style, "seed", group=arm)


def _mean(arm: str, curves: Sequence[Curve], style: Style, *, band: bool) -> Series:
    """Where all seeds have a loss."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    found = [interval([curve[at] for curve in curves]) for at in shared]
    low, high = (tuple(getattr(i, end) for i in found) if band else () for end in ("low", "high"))
    look = "mean" if band else "curve"
    return Series(arm, tuple(shared), tuple(i.mean for i in found), style, look, arm, low, high, group=arm)  # type: ignore[arg-type]
