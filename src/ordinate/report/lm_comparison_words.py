"""What comparisons of language models say, in sentences: what to use for the text, and what happens past its length."""

from statistics import median

from ordinate.lm.token_counts import write_tokens
from ordinate.statistics.phrases import capital, counted, listed, named
from ordinate.statistics.sentences import sentences
from ordinate.studies.lm.outcome import LONGER, TRAINED, LMOutcome
from ordinate.studies.lm.study import LMPartOutcome, LMStudyOutcome

BOTTOM_LINE = 4  # sentences of a question; all of them are on the page


def words(outcome: LMStudyOutcome, most: int = BOTTOM_LINE) -> list[str]:
    """All parts, each with its answers; what was published; what is still to be run."""
    lines = []
    for part in outcome.parts:
        title = f"{capital(part.part.name)}: " if len(outcome.parts) > 1 else ""
        lines += [f"{title}{line}" for line in part_words(part.found, most)]
        lines += [f"{title}{line}" for line in published_words(part)]
    missing = [part.part.name for part in outcome.parts if not part.found.finished]
    if missing:
        some = listed(missing) if len(missing) < len(outcome.parts) else "all of it"
        lines.append(f"Still to be run: {some} ({counted(outcome.missing, 'run')}). Go on with  {outcome.again}")
    return lines


def part_words(found: LMOutcome, most: int = BOTTOM_LINE) -> list[str]:
    """The two questions, and how far each encoding holds."""
    lines = []
    for name, title in ((TRAINED, "At the trained length"), (LONGER, "Past it")):
        task = found.task(name)
        if task is not None and found.analysis is not None and len(found.comparison.arms) > 1:
            lines.append(f"{title}: {' '.join(sentences(found.analysis, task)[:most])}")
    lines += [line for line in (reach_sentence(found), *refusals(found)) if line]
    runs = {run.id: run for run in found.comparison.distinct_runs}
    lines += [f"{runs[run].name} failed: {error}." for run, error in found.failures.items() if run in runs]
    return lines


def protocol_sentence(found: LMOutcome) -> str:
    """What was trained and what the losses are of."""
    comparison = found.comparison
    run = comparison.distinct_runs[0]
    windows = (
        "in disjoint windows"
        if comparison.protocol == "disjoint"
        else "of the same tokens at every context, each with at least half of it before"
    )
    return (
        f"{comparison.size}, {write_tokens(comparison.budget)} tokens a run, trained length "
        f"{run.config.model.length:,}, {counted(comparison.seeds, 'seed')}; losses in nats per token, "
        f"{windows}, lower is better."
    )


def reach_sentence(found: LMOutcome) -> str:
    """How far past the trained length the loss stays as low, the farthest first."""
    farthest, parts = found.farthest, []
    reaches = {arm: own for arm in found.comparison.names if (own := found.reaches(arm))}
    if farthest <= 1 or not reaches:
        return ""
    for arm, own in sorted(reaches.items(), key=lambda item: -median(item[1])):
        parts.append(f"{named([arm])} {reach_text(own, farthest)}")
    what = "With more context the loss on the same tokens is no worse than at the trained length up to"
    return f"{what}: {'; '.join(parts)}."


def reach_text(reaches: list[float], farthest: float) -> str:
    """`1.3x (1.2x to 1.5x)`, the median and range over seeds; with a plus as far as was tested."""
    ends = [f"{value:.1f}x" + "+" * (value >= farthest > 1) for value in (median(reaches), min(reaches), max(reaches))]
    return f"{ends[0]} ({ends[1]} to {ends[2]})" if len(set(ends)) > 1 else ends[0]


def refusals(found: LMOutcome) -> list[str]:
    """Encodings that have no loss past some context."""
    refusing = []
    for arm in found.comparison.names:
        rows = [row for record in found.of(arm).values() for row in record.evaluation.contexts]
        limit = min((row.context for row in rows if row.reason and "range" in row.reason), default=None)
        if limit is not None:
            refusing.append(arm)
    return (
        [f"{named(refusing)} cannot be evaluated past {'its' if len(refusing) == 1 else 'their'} range."]
        if refusing
        else []
    )


def published_words(part: LMPartOutcome) -> list[str]:
    """Each published ratio beside the measured one."""
    lines = []
    for published in part.part.published:
        ratios, direction = part.ratios(published), part.direction(published)
        if ratios and direction is not None:
            stated = f"Published: {published.text} (ratio {published.value:.3g})"
            lines.append(f"{stated}. Measured: {ratio_text(ratios)}, {direction}.")
    return lines


def ratio_text(ratios: list[float]) -> str:
    mean, low, high = sum(ratios) / len(ratios), min(ratios), max(ratios)
    return f"{mean:.3g} ({low:.3g} to {high:.3g})" if len(ratios) > 1 else f"{mean:.3g}"
