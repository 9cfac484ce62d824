"""Tables of comparisons of language models: losses by context, pairs, published against measured, and every run."""

from ordinate.report.lm_comparison_words import ratio_text, reach_text
from ordinate.report.table import Column, Table, TableRow, Value
from ordinate.statistics.phrases import mean_and_interval, outcome_words, times
from ordinate.statistics.types import Basis, Range
from ordinate.studies.lm.outcome import LONGER, TRAINED, LMOutcome
from ordinate.studies.lm.study import LMPartOutcome, LMStudyOutcome

BASES = {Basis.SCORES: "loss", Basis.AREA: "area over longer contexts"}


def tables(outcome: LMStudyOutcome) -> list[Table]:
    """Of every part, then of all."""
    made = [losses(part, number, len(outcome.parts) > 1) for number, part in enumerate(outcome.parts)]
    made += [published(outcome), pairs(outcome), runs(outcome)]
    return [table for table in made if table.rows]


def losses(part: LMPartOutcome, number: int = 0, several: bool = False) -> Table:
    """One row per arm: the loss at the trained length and past it, reach, and what a model saves by copying."""
    found, names = part.found, part.found.comparison.names
    inside, beyond = found.task(TRAINED), found.task(LONGER)
    ranges: list[tuple[str, Range]] = [("trained", inside.shown)] if inside else []
    ranges += [(times(r.length / found.comparison.length), r) for r in (beyond.ranges if beyond else ())]
    order = beyond.encodings if inside is None and beyond else inside.encodings if inside else names
    rows: list[TableRow] = []
    for arm in order:
        records = found.of(arm)
        cells: list[Value] = [
            mean_and_interval(r.cell(arm).interval) or ("n/a" if records else None) for _, r in ranges
        ]
        reaches = found.reaches(arm)
        reach = reach_text(reaches, found.farthest) if reaches else None
        rows.append((arm, *cells, reach, *_beside(found, arm)))
    columns = [Column("encoding", "encoding")]
    columns += [Column(name, "all text" if name == "trained" else f"long text, {name}") for name, _ in ranges]
    columns += [Column("reach", "reach"), Column("copying", "copying", ".2f"), Column("added", "added size", ".2g")]
    columns += [Column("parameters", "parameters", ","), Column("seeds", "seeds")]
    title = f"{part.part.name}: loss by context" if several else "Loss by context"
    note = (
        "Nats per token: mean and 95 % interval over seeds. All text: validation text at the trained length. Long "
        "text: long documents at multiples of the trained length. Reach: the longest context at which the loss of the "
        "same tokens is no worse than at the trained length (median and range over seeds; +: as far as was tested). "
        "Copying: nats saved per token when random tokens come a second time. Added size: what the encoding adds, over "
        "the token embeddings, at the start."
    )
    return Table(f"losses_{number + 1}" if several else "losses", title, tuple(columns), rows, note=note)


def _beside(found: LMOutcome, arm: str) -> tuple[Value, ...]:
    """What is measured beside losses, as means over seeds."""
    records = list(found.of(arm).values())
    saved = [
        max(r.first.per_token - r.second.per_token for r in rows)  # type: ignore[union-attr]
        for record in records
        if (rows := [r for r in record.evaluation.induction if r.first is not None and r.second is not None])
    ]
    added = [record.added_ratio for record in records if record.added_ratio]
    parameters = records[0].evaluation.parameters if records else None
    return (
        sum(saved) / len(saved) if saved else None,
        sum(added) / len(added) if added else None,
        parameters,
        len(records),
    )


def published(outcome: LMStudyOutcome) -> Table:
    """Ratios of perplexities: published, and of each seed here."""
    rows: list[TableRow] = []
    for part in outcome.parts:
        for ratio in part.part.published:
            measured = part.ratios(ratio)
            direction = part.direction(ratio)
            rows.append(
                (part.part.name, f"{ratio.above.title} / {ratio.below.title}", ratio.value,
                 ratio_text(measured) if measured else None, direction.value if direction else None, ratio.text)
            )  # fmt: skip
    columns = (
        Column("part", "comparison"), Column("ratio", "perplexities"), Column("published", "published", ".3g"),
        Column("measured", "measured"), Column("direction", "direction"), Column("text", "source"),
    )  # fmt: skip
    note = (
        "Perplexities of another text and size cannot be compared with ours; ratios on one text can, in their "
        "direction above all. Measured: mean and range over paired seeds."
    )
    return Table("published", "Published against measured", columns, rows, note=note, keys=("part", "ratio", "text"))


def pairs(outcome: LMStudyOutcome) -> Table:
    """Every pair that was tested."""
    rows: list[TableRow] = []
    for part in outcome.parts:
        for task in part.found.analysis.tasks if part.found.analysis else ():
            for pair in task.pairs:
                where = BASES[pair.basis] + (f", {task.shown.length:,} tokens" if pair.basis is Basis.SCORES else "")
                rows.append(
                    (part.part.name, task.task, where, pair.better, pair.worse, *pair.means, pair.difference.mean,
                     pair.difference.low, pair.difference.high, pair.corrected,
                     "told apart" if pair.claim else outcome_words(pair))
                )  # fmt: skip
    names = (
        "part", "question", "by", "better", "worse", "mean_of_better", "mean_of_worse", "difference", "low", "high",
        "corrected_p", "outcome",
    )  # fmt: skip
    titles = (
        "comparison", "question", "by", "lower loss", "higher loss", "mean", "mean", "difference", "low", "high",
        "corrected p", "outcome",
    )  # fmt: skip
    forms = ("", "", "", "", "", ".3f", ".3f", ".3f", ".3f", ".3f", ".3g", "")
    columns = tuple(Column(*column) for column in zip(names, titles, forms, strict=True))
    note = "Welch's tests over seeds, corrected by Holm over all pairs of a comparison; 95 % intervals of differences."
    return Table("pairs", "Tested pairs", columns, rows, note=note, keys=("part", "question", "by", "better", "worse"))


def runs(outcome: LMStudyOutcome) -> Table:
    """One row per arm and seed, with its losses by context."""
    every = [record.evaluation for part in outcome.parts for record in part.found.records.values()]
    long = [row for evaluation in every for row in evaluation.contexts if row.text == "long"]
    contexts = sorted({row.context for row in long if row.protocol == "disjoint"})
    rows: list[TableRow] = []
    for part in outcome.parts:
        for (arm, seed), record in sorted(part.found.records.items()):
            found = record.evaluation
            at = [found.row("disjoint", context) for context in contexts]
            cells = [None if row is None or row.losses is None else row.losses.per_token for row in at]
            all_ = found.overall
            totals = (all_.per_token, all_.perplexity, all_.bits_per_byte) if all_ else (None,) * 3
            rows.append((part.part.name, arm, seed, found.tokens, *totals, *cells, record.seconds, found.corpus[:12]))
    names = ["part", "encoding", "seed", "tokens", "loss", "perplexity", "bits_per_byte"]
    columns = [
        Column(n, n.replace("_", " "), f) for n, f in zip(names, ("", "", "", ",", ".4f", ".2f", ".4f"), strict=True)
    ]
    columns += [Column(f"context_{context}", f"{context:,} tokens", ".4f") for context in contexts]
    columns += [Column("seconds", "seconds", ".0f"), Column("corpus", "corpus")]
    note = "Loss, perplexity and bits per byte of all text at the trained length; then long text in disjoint windows."
    return Table("runs", "Runs", tuple(columns), rows, note=note, keys=("part", "encoding"))
