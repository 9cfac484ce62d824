"""Tables of evaluated language models."""

from collections.abc import Sequence

from ordinate.report.table import Column, Table, TableRow, Value
from ordinate.results.lm_evaluation import LanguageModelEvaluation, WindowProtocol
from ordinate.statistics.document_losses import ContextReach
from ordinate.statistics.interval import rate_interval

Evaluations = Sequence[LanguageModelEvaluation]
PROTOCOLS: tuple[WindowProtocol, ...] = ("disjoint", "sliding", "same targets", "key tokens")


def multiple(context: float, trained: int) -> str:
    """`1.5x`."""
    return f"{context / trained:.3g}x"


def reach_words(reach: ContextReach | None) -> str:
    """`1.3x (1.2x to 1.5x)`; with a plus as far as was tested."""
    if reach is None:
        return "unknown"
    ends = [f"{value / reach.trained:.1f}x" + "+" * (value >= reach.longest > reach.trained)
            for value in (reach.context, reach.low, reach.high) if value is not None]  # fmt: skip
    return f"{ends[0]} ({ends[1]} to {ends[2]})" if len(set(ends)) > 1 else ends[0]


def models(evaluations: Evaluations) -> Table:
    """One row per checkpoint: what it is, and what it scores at the trained length."""
    names = ("model", "encoding", "length", "tokens", "loss", "se", "perplexity", "bits_per_byte", "documents", "reach")
    titles = ("model", "encoding", "length", "trained on", "loss", "SE", "perplexity", "bits/byte", "docs", "reach")
    forms = ("", "", ",", ",", ".4f", ".4f", ".2f", ".4f", ",", "")
    rows = []
    for found in evaluations:
        all_ = found.overall
        scores = (
            (all_.per_token, all_.error, all_.perplexity, all_.bits_per_byte, all_.documents) if all_ else (None,) * 5
        )
        reach = reach_words(found.reach()) if found.contexts else None
        rows.append((found.name, found.encoding, found.length, found.tokens, *scores, reach))
    note = (
        "Loss in nats per token on validation text, in disjoint windows of the trained length; SE: its standard error "
        "over documents. Reach: the longest context, in trained lengths, at which the loss of the same tokens is no "
        "worse than at the trained length, with its 95 % interval over documents; +: as far as was tested."
    )
    columns = tuple(Column(*column) for column in zip(names, titles, forms, strict=True))
    return Table("models", "At the trained length", columns, rows, note=note, keys=("model",))


def by_context(evaluations: Evaluations) -> Table:
    """Loss per token by context, one row per checkpoint and protocol; the sums behind it are in `context_rows`."""
    ratios = sorted({row.context / e.length for e in evaluations for row in e.contexts if row.text == "long"})
    columns = [Column("model", "model"), Column("protocol", "protocol"), Column("tokens", "tokens", ",")]
    columns += [Column("documents", "docs", ","), *(Column(f"{ratio:g}x", f"{ratio:g}x", ".3f") for ratio in ratios)]
    rows: list[TableRow] = []
    for found in evaluations:
        kinds: list[tuple[WindowProtocol, str]] = [(protocol, "") for protocol in PROTOCOLS]
        kinds += [
            ("same targets", scaling) for scaling in dict.fromkeys(row.scaling for row in found.contexts if row.scaling)
        ]
        for protocol, scaling in kinds:
            cells: list[Value] = []
            tokens = documents = 0
            for ratio in ratios:
                row = found.row(protocol, round(ratio * found.length), scaling=scaling)
                if row is not None and row.losses is not None:
                    tokens, documents = row.losses.total_tokens, row.losses.documents
                    cells.append(row.losses.per_token if tokens else None)
                else:
                    cells.append("n/a" if row else None)
            if any(cell is not None for cell in cells):
                rows.append((found.name, f"{protocol}, {scaling}" if scaling else protocol, tokens, documents, *cells))
    note = (
        "Nats per token; columns are contexts in trained lengths. disjoint: windows restart; sliding: a window scores "
        "its last tokens only, so each has a long context; same targets: the same tokens with more and more text "
        "before them; key tokens: those of them that need the context most."
    )
    return Table("contexts", "By context", tuple(columns), rows, note=note, keys=("model", "protocol"))


def context_rows(evaluations: Evaluations) -> Table:
    """Every row of the text part with its protocol, sums and errors."""
    names = ("model", "protocol", "documents", "context_len", "stride", "scaling", "loss", "se", "perplexity",
             "bits_per_byte", "tokens", "number_of_documents", "reason")  # fmt: skip
    forms = ("", "", "", ",", ",", "", ".4f", ".4f", ".2f", ".4f", ",", ",", "")
    rows = []
    for found in evaluations:
        for row in found.contexts:
            own = row.losses
            scores = (
                (own.per_token, own.error, own.perplexity, own.bits_per_byte)
                if own and own.total_tokens
                else (None,) * 4
            )
            counts = (own.total_tokens, own.documents) if own else (0, 0)
            rows.append(
                (found.name, row.protocol, row.text, row.context, row.stride, row.scaling, *scores, *counts, row.reason)
            )
    columns = tuple(Column(name, name.replace("_", " "), form) for name, form in zip(names, forms, strict=True))
    return Table("context_rows", "Every protocol", columns, rows, keys=("model",))


def problems(evaluations: Evaluations) -> Table:
    """Algorithmic problems, one row per checkpoint, kind, range and number of shots."""
    names = ("model", "kind", "range", "shots", "exact", "exact_low", "exact_high", "exact_chance", "symbols_right",
             "symbol_chance", "nats_per_symbol", "problems", "longest", "reason")  # fmt: skip
    forms = ("", "", "", "", ".3f", ".3f", ".3f", ".2g", ".3f", ".3f", ".3f", ",", ",", "")
    rows: list[TableRow] = []
    for found in evaluations:
        for row in found.problems:
            scores: tuple[Value, ...] = (None,) * 6
            if not row.reason:
                low, high = rate_interval(row.exact, row.problems)
                exact = (row.exact / row.problems, low, high, row.chance_exact)
                scores = (*exact, row.right / row.symbols, row.chance_symbol, row.loss / row.symbols)
            else:
                scores = (None,) * 7
            rows.append((found.name, row.kind, row.range, row.shots, *scores, row.problems, row.longest, row.reason))
    note = (
        "exact: share of problems whose whole answer greedy decoding would give, with its 95 % interval; symbols "
        "right: share of symbols that are the likeliest among those that answers can have; chance: the best guess "
        "without reading the question; longest: of the problems, in tokens."
    )
    columns = tuple(Column(name, name.replace("_", " "), form) for name, form in zip(names, forms, strict=True))
    return Table("problems", "Algorithmic problems", columns, rows, note=note, keys=("model", "kind", "range"))


def induction(evaluations: Evaluations) -> Table:
    """Repeated random tokens, one row per checkpoint and period."""
    names = ("model", "period", "length", "first_half", "second_half", "se", "saved", "sequences", "reason")
    forms = ("", ",", ",", ".3f", ".3f", ".3f", ".3f", ",", "")
    rows: list[TableRow] = []
    for found in evaluations:
        for row in found.induction:
            scores: tuple[Value, ...] = (None,) * 5
            if row.first is not None and row.second is not None:
                first, second = row.first.per_token, row.second.per_token
                scores = (first, second, row.second.error, first - second, row.second.documents)
            rows.append((found.name, row.period, 2 * row.period, *scores, row.reason))
    note = "Nats per token of random tokens, and of the same tokens again; saved: what a model gains by copying."
    columns = tuple(Column(name, name.replace("_", " "), form) for name, form in zip(names, forms, strict=True))
    return Table("induction", "Induction on repeated random tokens", columns, rows, note=note, keys=("model",))


def all_tables(evaluations: Evaluations) -> list[Table]:
    """Those that have rows."""
    made = (models, by_context, problems, induction, context_rows)
    return [table for make in made if (table := make(evaluations)).rows]
