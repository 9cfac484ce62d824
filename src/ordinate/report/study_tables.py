"""The tables of a study: claims, published against measured, the matrix of methods, measures, scores and protocols."""

import math
from collections.abc import Sequence

from ordinate.core.config import to_dict
from ordinate.core.parsing import write_value
from ordinate.report import comparison_tables
from ordinate.report.overhead import step_ratio
from ordinate.report.table import Column, Table, TableRow
from ordinate.statistics.phrases import called, listed, p_words
from ordinate.statistics.reach import Reach
from ordinate.statistics.replication import Order
from ordinate.statistics.types import Range, TaskAnalysis
from ordinate.studies import measures
from ordinate.studies.claims import ClaimOutcome, claim_outcome
from ordinate.studies.study_definition import MATRIX, Part, Published, PublishedClaim
from ordinate.studies.study_outcome import PartOutcome, StudyOutcome

MOST_COLUMNS = 6  # parts side by side in one table


def tables(outcome: StudyOutcome) -> list[Table]:
    """What holds first, then the numbers, then the settings."""
    first = _claims(outcome), _published(outcome), _matrix(outcome), _measures(outcome)
    return [table for table in (*first, scores(outcome), protocols(outcome)) if table.rows]


def number_text(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "never"


def published_text(figure: Published) -> str:
    """`0.997`, `about 0.500`."""
    return ("about " if figure.within else "") + number_text(figure.value, measures.find(figure.measure).form)


def measured_text(part: PartOutcome, figure: Published) -> str:
    return spread(part.measured(figure.encoding, figure.measure), measures.find(figure.measure).form)


def spread(values: Sequence[float], form: str) -> str:
    """`0.67 (0.60 to 0.75)`: the mean and the range of the seeds; the median where some seed never got there."""
    if not values:
        return ""
    low, high = min(values), max(values)
    ordered = sorted(values)
    middle = sum(values) / len(values) if math.isfinite(high) else ordered[(len(ordered) - 1) // 2]
    if number_text(low, form) == number_text(high, form):
        return number_text(middle, form)
    return f"{number_text(middle, form)} ({number_text(low, form)} to {number_text(high, form)})"


def _published(outcome: StudyOutcome) -> Table:
    """One row for each published figure, one column for each part that has the same encodings."""
    stated = [part for part in outcome.parts if part.part.published]
    shown = [*stated, *(part for part in outcome.parts if part not in stated and part.values)][:MOST_COLUMNS]
    rows: list[TableRow] = []
    for own in stated:
        for figure in own.part.published:
            measure = measures.find(figure.measure)
            cells = [_cell(part, figure) for part in shown]
            rows.append((called(figure.encoding), measure.title, published_text(figure), *cells))
    columns = [Column("encoding", "encoding"), Column("measure", "measure"), Column("published", "published")]
    columns += [Column(part.part.name, part.part.name) for part in shown]
    note = (
        "Mean and range over seeds. Agrees: the published value lies in that range, with a margin (0.02 of accuracies "
        "and losses, half of steps, 2 % of parameters; minutes are of another machine). Possible: it does not, but a "
        "further seed could have it (95 % prediction interval)."
    )
    return Table("published", "Published against measured", tuple(columns), tuple(rows), note=note)


def _cell(part: PartOutcome, figure: Published) -> str:
    text, found = measured_text(part, figure), part.agreement(figure)
    if part.part.published or part.part.base:
        return f"{text} {found}" if found is not None else text
    own = part.part.encoding(figure.encoding) or part.part.encoding(figure.encoding.partition("(")[0])
    if figure.measure in ("parameters", "minutes"):
        return ""  # parameters and minutes of models of another size
    return f"{text} ({own})" if text and own != figure.encoding else text


def _claims(outcome: StudyOutcome) -> Table:
    shown = [part for part in outcome.parts if part.values][:MOST_COLUMNS]
    rows = [(claim.text, *(claim_text(claim, part) for part in shown)) for claim in outcome.study.claims]
    columns = (Column("claim", "published claim"), *(Column(part.part.name, part.part.name) for part in shown))
    note = (
        "Orders: each pair of encodings by the exact rank-sum test over seeds, corrected by Holm over the pairs of a "
        "claim, with means at least 0.02 apart; what cannot be evaluated at a length is below all that can. A claim "
        "has few pairs and was stated before; a verdict corrects over all pairs of its comparison, so it may leave "
        "open what a claim shows. Learning, and extrapolating to the headline length: at the bar in more than half of "
        "the seeds."
    )
    return Table("claims", "Published claims", columns, tuple(rows) if shown else (), note=note)


def claim_text(claim: PublishedClaim, part: PartOutcome) -> str | None:
    """`refuted: rope 2 of 6`; None where it is not measured."""
    outcome = claim_outcome(claim, part)
    if outcome is None:
        return None
    counts = {**outcome.learned, **outcome.extrapolated} if not (outcome.learned and outcome.extrapolated) else {}
    if counts:
        why = ", ".join(f"{called(name)} {good} of {of}" for name, (good, of) in counts.items())
    elif outcome.pairs:
        why = _pairs_text(outcome, measures.find(claim.measure).form)
    else:
        sides = (("learn", outcome.learned), ("extrapolate", outcome.extrapolated))
        why = "; ".join(
            f"{verb}: " + ", ".join(f"{called(name)} {good} of {of}" for name, (good, of) in counts.items())
            for verb, counts in sides
        )
    return f"{outcome.order}: {why}"


def _pairs_text(outcome: ClaimOutcome, form: str) -> str:
    """Of an order that holds, the smallest difference and the largest p; otherwise what each pair says."""
    pairs = outcome.pairs
    if outcome.order is Order.HOLDS:
        least = min(abs(pair.difference) for pair in pairs.values())
        by = f"by {number_text(least, form)} or more, " if math.isfinite(least) else ""
        return f"{by}{p_words(max(pair.p for pair in pairs.values()))}"
    words = {1: "better than", 0: "not told apart from", -1: "worse than"}
    said = []
    for sign, verb in words.items():
        for one in dict.fromkeys(better for better, _ in pairs):
            others = [called(two) for (better, two), pair in pairs.items() if better == one and pair.sign == sign]
            said += [f"{called(one)} {verb} {listed(others)}"] if others else []
    return "; ".join(said)


def protocols(outcome: StudyOutcome) -> Table:
    """The settings in which the comparisons of a study differ; none where there are too many for columns."""
    parts = [part.part for part in outcome.parts]
    shown = [(part, _settings(part)) for part in parts] if 1 < len(parts) <= MOST_COLUMNS else []
    keys = dict.fromkeys(key for _, settings in shown for key in settings)
    differing = [key for key in keys if len({settings.get(key) for _, settings in shown}) > 1]
    columns = (Column("setting", "setting"), *(Column(part.name, part.name) for part, _ in shown))
    rows = tuple((key, *(settings.get(key) for _, settings in shown)) for key in differing)
    return Table("protocols", "Protocols", columns, rows, note="What is not listed is the same in all comparisons.")


# what an encoding, a task or the width decides, and how runs are executed
_NOT_PROTOCOL = ("encoding", "seed", "vocabulary", "classes", "length", "head_dim", "kv_heads", "hidden", "threads")


def _settings(part: Part) -> dict[str, str]:
    """The settings of a comparison's runs, as on a command line."""
    (_, _, base), *_ = part.study.bases
    own = to_dict(base)
    flat = {key: value for key, value in (own | own.pop("model")).items() if key not in _NOT_PROTOCOL}
    flat["lr"] = "tuned per encoding" if part.study.rates else flat["lr"]
    return {key: write_value(value) for key, value in flat.items() if value is not None}


def _matrix(outcome: StudyOutcome) -> Table:
    """The published properties of encodings, in words, beside what was measured in the first finished comparison."""
    part = next((part for part in outcome.parts if part.comparison is not None), None)
    profiles = {} if part is None or part.comparison is None else {p.encoding: p for p in part.comparison.profiles}
    tasks = {} if part is None or part.comparison is None else {t.task: t for t in part.comparison.analysis.tasks}
    rows: list[TableRow] = []
    for name, published in outcome.study.matrix.items():
        profile = profiles.get((part and part.part.encoding(name)) or "")
        if profile is None:
            continue
        task, limit = tasks[profile.task], profile.max_positions
        scored = [score for score in task.shown.cell(profile.encoding).scores if score is not None]
        beyond = f"{sum(scored) / len(scored):.3f}" if scored else "out of range"
        measured = {
            "length": f"{'no limit' if limit is None else f'{limit:,}'} ({profile.extrapolation})",
            "generalization": f"{beyond} at {task.shown.length}",
            "parameters": f"{profile.own_parameters:,}",
            "speed": f"{step_ratio(name) or '?'} times a step without encoding",
        }
        rows.append((name, *(f"{published.get(key, '-')}; {measured[key]}" for key in MATRIX)))
    titles = ("maximum length", "generalization", "own parameters", "speed")
    columns = (Column("encoding", "encoding"), *(Column(k, title) for k, title in zip(MATRIX, titles, strict=True)))
    note = (
        "Published in words; measured in the first comparison, but for speed: that of training steps in turns on one "
        "machine (docs/COST.md)."
    )
    return Table("matrix", "Matrix of methods", columns, tuple(rows), note=note)


def _measures(outcome: StudyOutcome) -> Table:
    """The measures that a study reads beside its scores, by comparison and encoding."""
    rows: list[TableRow] = []
    names = list(dict.fromkeys(name for part in outcome.parts for name in part.part.measures))
    for part in outcome.parts:
        for encoding in part.part.encodings if part.part.measures and part.values else ():
            values = [spread(part.measured(encoding, name), measures.find(name).form) for name in names]
            rows.append((part.part.name, called(encoding), *values))
    titles = (Column(name, measures.find(name).title) for name in names)
    columns = (Column("comparison", "comparison"), Column("encoding", "encoding"), *titles)
    return Table("measures", "Measures", columns, tuple(rows), note="Mean and range over seeds.")


def scores(outcome: StudyOutcome) -> Table:
    """The mean in distribution and beyond of each encoding in each part; a few parts are columns, many are rows."""
    names = list(dict.fromkeys(name for part in outcome.parts for name in part.part.encodings))
    tasks = {
        f"{part.part.name} {task.task if len(part.part.tasks) > 1 else ''}".strip(): task
        for part in outcome.parts
        for task in (part.comparison.analysis.tasks if part.comparison else ())
    }
    few = len(tasks) <= MOST_COLUMNS
    heads, sides = (list(tasks), names) if few else (names, list(tasks))
    columns = (
        Column("encoding" if few else "comparison", "encoding" if few else "comparison"),
        *(Column(head, head) for head in heads),
    )
    rows = []
    for side in sides:
        pairs = [(tasks[head], side) if few else (tasks[side], head) for head in heads]
        rows.append((called(side) if few else side, *(_scores(task, name) for task, name in pairs)))
    note = (
        "Mean score in distribution / at the headline length (twice the trained one) over all seeds, there on tokens "
        "past the trained length where the task has them; how many seeds learned the task; and to which multiple of "
        "the trained length they hold (+: the longest that was tested)."
    )
    return Table("scores", "Scores", columns, tuple(rows) if tasks else (), note=note)


def results(outcome: StudyOutcome) -> Table:
    """All results of all comparisons, as those of one are written: one row per task, range and encoding."""
    made = [(part.part.name, comparison_tables.results(part.comparison)) for part in outcome.parts if part.comparison]
    columns = made[0][1].columns if made else ()
    rows = tuple((name, *row) for name, table in made for row in table.rows)
    return Table("results", "All results", (Column("comparison", "comparison"), *columns), rows)


def _scores(task: TaskAnalysis, encoding: str) -> str | None:
    """`1.000 / 0.853, 6 of 6, 3.4x`."""
    if encoding not in task.encodings:
        return None

    def mean(r: Range) -> str:
        found = [score for score in r.cell(encoding).scores if score is not None]
        return f"{sum(found) / len(found):.3f}" if found else "-"

    ranges = [task.shown] if task.inside is None or task.inside is task.shown else [task.inside, task.shown]
    good, of = task.learned.get(encoding, (0, 0))
    reach = f", {_multiple(task.reach[encoding])}" if good and task.reach[encoding].by_most else ""
    return " / ".join(map(mean, ranges)) + (f", {good} of {of}{reach}" if of else "")


def _multiple(reach: Reach) -> str:
    """`3.4x`, `4.0x+` at the longest tested length."""
    median = reach.median or 1.0
    return f"{median:.1f}x{'+' * reach.at_least(median)}"
