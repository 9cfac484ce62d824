"""Pictures of evaluated language models."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ordinate.report.chart import Chart, Figure, Heat, Line, Number, Panel, Series, Shade
from ordinate.report.colors import DASHES, Style
from ordinate.report.lm_tables import multiple
from ordinate.report.run_figures import run_styles
from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.statistics.document_losses import DocumentLosses, difference

Evaluations = Sequence[LanguageModelEvaluation]
POSITION_NOTE = (
    "Disjoint windows: of the trained length up to there, of the longest context past it. A band is the 95 % interval "
    "over documents, most of which is how hard documents are: it is alike at all positions."
)


def figures(evaluations: Evaluations) -> list[Figure]:
    """Those that there are numbers for."""
    made = (change_by_context, loss_by_position, loss_by_context, passkey_grid, induction_by_period)
    return [figure for make in made if (figure := make(evaluations)) is not None]


def loss_by_position(evaluations: Evaluations) -> Chart | None:
    """The loss of a token against the number of tokens before it: where the cliff is, and where it is flat."""
    series = []
    for found, style in _styled(evaluations):
        if found.positions:
            at = tuple(math.sqrt(row.first * row.last) for row in found.positions)
            own = _series(found.name, at, [row.losses for row in found.positions], style)
            series.append(own if len(evaluations) == 1 else replace(own, low=(), high=()))  # bands would hide curves
    return _chart(
        "loss-by-position", "Loss by position", "tokens before the scored one", "loss (nats per token)", series,
        evaluations, POSITION_NOTE,
    )  # fmt: skip


def loss_by_context(evaluations: Evaluations) -> Chart | None:
    """The loss in disjoint and in sliding windows of each context."""
    series = []
    for found, style in _styled(evaluations):
        for protocol, dash in (("disjoint", "solid"), ("sliding", "dash")):
            at = found.by_context(protocol)  # type: ignore[arg-type]
            if at:
                own = _series(f"{found.name}, {protocol}", tuple(at), list(at.values()), replace(style, dash=dash))
                series.append(replace(own, low=(), high=(), look="mean"))
    note = (
        "Solid: windows restart. Dashed: windows overlap, so every token has a long context. The same tokens in both."
    )
    return _chart(
        "loss-by-context", "Loss by context", "context (tokens)", "loss (nats per token)", series, evaluations, note
    )


def change_by_context(evaluations: Evaluations) -> Chart | None:
    """How the loss of the same tokens changes from that at the trained length, with scalings as further curves."""
    series = []
    for found, style in _styled(evaluations):
        plain = found.by_context("same targets")
        if found.length not in plain:
            continue
        for number, scaling in enumerate(["", *dict.fromkeys(row.scaling for row in found.contexts if row.scaling)]):
            own = found.by_context("same targets", scaling)
            at = dict(sorted((own if not scaling else {found.length: plain[found.length]} | own).items()))
            gaps = [difference(losses, plain[found.length]) for losses in at.values()]
            look = replace(style, dash=DASHES[number % len(DASHES)])
            y, low, high = (tuple(getattr(gap, end) for gap in gaps) for end in ("mean", "low", "high"))
            name = f"{found.name}, {scaling}" if scaling else found.name
            series.append(Series(name, tuple(at), y, look, "mean", name, low, high))
    tolerance = max((found.settings["text"]["tolerance"] for found in evaluations), default=0.0)
    chart = _chart(
        "change-by-context", "What more context does to the same tokens", "context (tokens)",
        "loss minus that at the trained length", series, evaluations,
        "Paired by document, with 95 % intervals. Reach ends where a curve crosses the line.",
    )  # fmt: skip
    return chart and replace(chart, lines=(Line(tolerance, "no worse"),))


def induction_by_period(evaluations: Evaluations) -> Chart | None:
    """What a model saves on random tokens that it has read before."""
    series = []
    for found, style in _styled(evaluations):
        rows = [(row.period, row.first, row.second) for row in found.induction]
        pairs = [(period, a.per_token - b.per_token) for period, a, b in rows if a is not None and b is not None]
        if pairs:
            x, y = zip(*pairs, strict=True)
            series.append(Series(found.name, x, y, style, "mean", found.name))
    return _chart(
        "induction", "Induction on repeated random tokens", "distance to the first copy (tokens)",
        "nats saved per token", series, evaluations, "0: the second copy is as hard to predict as the first.",
    )  # fmt: skip


def passkey_grid(evaluations: Evaluations) -> Heat | None:
    """The share of symbols that are recalled, by depth and context; gaps are contexts that an encoding refuses."""
    panels: list[Panel] = []
    labels: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    for found in evaluations:
        for filler in dict.fromkeys(cell.filler for cell in found.passkey):
            cells = [cell for cell in found.passkey if cell.filler == filler]
            contexts = list(dict.fromkeys(cell.context for cell in cells))
            depths = list(dict.fromkeys(cell.depth for cell in cells))
            at = {(cell.depth, cell.context): _share(cell.right, cell.symbols) for cell in cells}
            values = np.array([[at[depth, context] for context in contexts] for depth in depths], dtype=np.float32)
            labels = tuple(multiple(context, found.length) for context in contexts)
            rows = tuple(f"{depth:g}" for depth in depths)
            panels.append(Panel(f"{found.name}, in {filler}" if len(evaluations) > 1 else f"in {filler}", values))
    if not panels:
        return None
    return Heat(
        "passkey", "Passkey: share of symbols recalled", "context", "depth of the key",
        tuple(panels), columns=min(len(panels), 2), value="symbols right", square=False, row_height=260,
        labels=labels, row_labels=rows, most=1.0,
        note="Contexts in trained lengths; depth 0 is the start. The likeliest of 26 letters: chance is 0.04.",
    )  # fmt: skip


def _share(right: int, symbols: int) -> float:
    return right / symbols if symbols else math.nan


def _styled(evaluations: Evaluations) -> Iterator[tuple[LanguageModelEvaluation, Style]]:
    """In the colors of their encodings."""
    return zip(evaluations, run_styles([found.encoding for found in evaluations]), strict=True)


def _series(name: str, x: tuple[Number, ...], losses: Sequence[DocumentLosses], style: Style) -> Series:
    """Losses with their intervals over documents."""
    y = tuple(own.per_token for own in losses)
    low, high = (tuple(own.interval[end] if own.interval else None for own in losses) for end in (0, 1))
    return Series(name, x, y, style, "curve", name, low, high)


def _chart(
    name: str, title: str, x_title: str, y_title: str, series: list[Series], evaluations: Evaluations, note: str
) -> Chart | None:
    """Over contexts or positions, with the trained lengths shaded if all models share them."""
    if not series:
        return None
    lengths = {found.length for found in evaluations}
    x = sorted({value for one in series for value in one.x if value is not None})
    shade = Shade(min(x[0], *lengths), min(lengths), f"trained to {min(lengths):,}") if len(lengths) == 1 else None
    ticks = tuple(2.0**power for power in range(math.floor(math.log2(max(x[0], 1))), math.ceil(math.log2(x[-1])) + 1))
    return Chart(name, title, x_title, y_title, tuple(series), log_x=True, x_ticks=ticks, shade=shade, note=note)
