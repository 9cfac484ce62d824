"""Pictures of evaluated language models with several seeds: means over seeds, every seed behind them."""

import math
from collections.abc import Callable, Mapping, Sequence

from ordinate.report.chart import Figure
from ordinate.report.lm_figures import induction_by_period, passkey_grid
from ordinate.report.run_figures import run_styles
from ordinate.report.seed_curves import SEEDS, Curve, seed_chart
from ordinate.results.lm_evaluation import LanguageModelEvaluation, WindowProtocol

Groups = Mapping[str, Sequence[LanguageModelEvaluation]]  # the seeds of each


def seed_figures(groups: Groups) -> list[Figure]:
    """Those that there are numbers for."""
    every = [found for seeds in groups.values() for found in seeds]
    charts = [
        _chart(groups, _change, "change-by-context", "What more context does to the same tokens", "context (tokens)",
               "Zero: the loss at the trained length.", "loss minus that at the trained length"),
        _chart(groups, _position, "loss-by-position", "Loss by position", "tokens before the scored one",
               "Disjoint windows: of the trained length up to there, of the longest context past it."),
        _chart(groups, _windows("disjoint"), "loss-by-context", "Loss by context, disjoint windows", "context (tokens)",
               "Windows restart."),
        _chart(groups, _windows("sliding"), "loss-by-context-sliding", "Loss by context, sliding windows",
               "context (tokens)", "Windows overlap, so every token has a long context."),
    ]  # fmt: skip
    found: list[Figure | None] = [*charts, passkey_grid(every), induction_by_period(every)]
    return [figure for figure in found if figure is not None]


def _chart(
    groups: Groups, curve: Callable[[LanguageModelEvaluation], Curve], name: str, title: str, x_title: str, note: str,
    y_title: str = "loss (nats per token)",
) -> Figure | None:  # fmt: skip
    curves = {group: [own for found in seeds if (own := curve(found))] for group, seeds in groups.items()}
    looks = dict(zip(groups, run_styles([seeds[0].encoding for seeds in groups.values()]), strict=True))
    length = min(found.length for seeds in groups.values() for found in seeds)
    return seed_chart(curves, name, title, x_title, f"{note} {SEEDS}", length, y_title=y_title, looks=looks)


def _change(found: LanguageModelEvaluation) -> Curve:
    at = found.by_context("same targets")
    if found.length not in at:
        return {}
    return {context: losses.per_token - at[found.length].per_token for context, losses in at.items()}


def _position(found: LanguageModelEvaluation) -> Curve:
    return {math.sqrt(row.first * row.last): row.losses.per_token for row in found.positions}


def _windows(protocol: WindowProtocol) -> Callable[[LanguageModelEvaluation], Curve]:
    return lambda found: {context: losses.per_token for context, losses in found.by_context(protocol).items()}
