"""Writes a comparison as files: a page, tables and figures."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ordinate.core.errors import InputError, nearest
from ordinate.report.comparison_tables import Cells, results, tables
from ordinate.report.glossary import used
from ordinate.report.json_document import Entries, Lines, as_json, json_pieces, table_document, unfolded
from ordinate.report.latex import latex
from ordinate.report.method import method, provenance
from ordinate.report.outcomes import ENDPOINTS, outcome_lists
from ordinate.report.output import make_folder, replace_file
from ordinate.report.table import Table, comma_separated, markdown, markdown_text
from ordinate.report.task_words import words_of_tasks
from ordinate.report.verdict_reason import task_reason
from ordinate.results.comparison import Comparison
from ordinate.statistics.alarms import alarm_lines
from ordinate.statistics.learning import Steps
from ordinate.statistics.ranks import AverageRanks
from ordinate.statistics.reach import Reach
from ordinate.statistics.sentences import sentences
from ordinate.statistics.types import TaskAnalysis
from ordinate.store.files import refuse_link

FORMATS = ("html", "md", "csv", "tex", "json")
_CELLS: dict[str, Cells] = {"md": "text", "csv": "numbers", "json": "numbers", "tex": "paper"}


def write(
    comparison: Comparison, folder: str | Path, *, formats: Iterable[str] = FORMATS, figures: bool = True
) -> Path:
    """report.html, tables/ in the other formats, and figures/ as PDF, PNG and CSV. Returns the path of the page."""
    wanted, folder = [known(name) for name in formats], Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("report.html", "tables", "figures"):
        refuse_link(folder / name)
    if "html" in wanted:
        replace_file(folder / "report.html", render(comparison, "html"))
    others = [name for name in wanted if name != "html"]
    if others:
        make_folder(folder / "tables")
        for cells in dict.fromkeys(_CELLS[name] for name in others):
            for table in tables(comparison, cells=cells):
                for name in (name for name in others if _CELLS[name] == cells):
                    replace_file(folder / "tables" / f"{table.name}.{name}", _one(table, name))
    if figures:
        _write_figures(comparison, folder / "figures")
    return folder / "report.html"


def pieces(comparison: Comparison, format: str) -> Iterator[str]:
    """One document, as `render` makes it, without holding all of it where it may be large."""
    if known(format) == "json":
        yield from json_pieces(_document(comparison))
        yield "\n"
    else:
        yield render(comparison, format)


def render(comparison: Comparison, format: str) -> str:
    """One document: the page; words and all tables as md, tex or json; or the results alone as csv."""
    known(format)
    if format == "html":
        from ordinate.report.html import page

        return page(comparison)
    if format == "csv":
        return comma_separated(results(comparison))
    if format == "json":
        return as_json(_document(comparison))
    # The list of runs is too long to read here: it is on the page, in json and in its own file.
    texts = [_one(table, format) for table in tables(comparison, cells=_CELLS[format]) if table.name != "runs"]
    if format == "tex":
        head = [f"made again by: {' '.join(comparison.command.split())}", *_about(comparison), *_words(comparison)]
        return "\n".join([*(f"% {line}" for line in head), "", *texts])
    return "\n".join([*_markdown_head(comparison), *texts, *_markdown_end(comparison)])


def _markdown_head(comparison: Comparison) -> Iterator[str]:
    """The tasks, and the words without which no table may be read."""
    yield f"# {markdown_text(comparison.title or 'Positional encodings compared')}\n"
    yield from (f"{markdown_text(line)}\n" for line in (*comparison.note.splitlines(), provenance(comparison)) if line)
    for task, words in words_of_tasks(comparison).items():
        yield f"**The task {markdown_text(task)}.** {markdown_text(words.words)}\n\n{_fenced(words.example)}\n"
    yield "\n".join(f"- {markdown_text(line)}" for line in _words(comparison)) + "\n"
    claims = [(task.task, line) for task in comparison.analysis.tasks for line in outcome_lists(task)]
    if claims:
        yield f"## Claims\n\nBy learning (L), score at the headline range (S) or area (A): {markdown_text(ENDPOINTS)}\n"
        yield "\n".join(f"- {markdown_text(f'{task}: {line}')}" for task, line in claims) + "\n"
    yield f"{_fenced(comparison.command)}\n"


def _markdown_end(comparison: Comparison) -> Iterator[str]:
    """How it was made, and the words that were used."""
    lines = method(comparison)
    if lines:
        yield "## How it was made\n\n" + "\n".join(f"- {markdown_text(line)}" for line in lines) + "\n"
    terms = used(_words(comparison))
    if terms:
        meanings = (f"- **{markdown_text(term.name)}**: {markdown_text(term.meaning)}" for term in terms)
        yield "## Words\n\n" + "\n".join(meanings) + "\n"


def _fenced(text: str) -> str:
    fence = "`" * max(3, text.count("`") + 1)
    return f"{fence}\n{text}\n{fence}"


def _about(comparison: Comparison) -> list[str]:
    """One line each, for comments."""
    return [" ".join(line.split()) for line in (provenance(comparison), *method(comparison)) if line]


def _one(table: Table, format: str) -> str:
    if format == "json":
        return as_json(table_document(table))
    return {"md": markdown, "csv": comma_separated, "tex": latex}[format](table)


def known(name: str) -> str:
    """The format of this name, if there is one."""
    if name not in FORMATS:
        raise InputError(f"no report can be written as {name!r}: {nearest(name, FORMATS)}")
    return name


def format_of(form: str | None, output: Path | None) -> str | None:
    """The format that was asked for, or that a file's name ends in, or a page; None for neither format nor file."""
    if form is None and output is not None:
        form = output.suffix.removeprefix(".") or "html"
        if form not in FORMATS:
            raise InputError(f"-o {output} ends in .{form}, which no report does: {nearest(form, FORMATS)}")
    return None if form is None else known(form)


def _write_figures(comparison: Comparison, folder: Path) -> None:
    from ordinate.report.chart import Heat, data
    from ordinate.report.draw_matplotlib import save
    from ordinate.report.figures import figures

    make_folder(folder)
    for figure in figures(comparison):
        if isinstance(figure, Heat) and not figure.panels:
            continue
        for ending, content in save(figure).items():
            replace_file(folder / f"{figure.name}.{ending}", content)
        replace_file(folder / f"{figure.name}.csv", comma_separated(data(figure)))


def _words(comparison: Comparison) -> list[str]:
    """What no table may be read without: verdicts, alarms, relaxed rules. One line each."""
    analysis = comparison.analysis
    lines = [f"preliminary: {reason}" for reason in analysis.preliminary]
    for task in analysis.tasks:
        lines += [f"{task.task}: {sentence}" for sentence in sentences(analysis, task)]
        lines += [f"{task.task}: why: {why}"] if (why := task_reason(comparison, task)) else []
        lines += [f"{task.task}: alarm, {kind}: {words}" for kind, words in alarm_lines(task.alarms)]
    lines += [f"limit: {limit}" for limit in analysis.limits]
    lines += [f"failed: {run}: {error}" for run, error in comparison.failures.items()]
    lines.append(f"rules of comparison: {analysis.rules}")
    return [" ".join(line.split()) for line in lines]


def _document(comparison: Comparison) -> dict[str, Any]:
    """Everything but the pictures, as data, with the sentences that it makes."""
    analysis = comparison.analysis
    names = ("rules", "encodings", "alpha", "tests", "seeds_needed", "preliminary", "limits")
    return {
        "id": comparison.id,
        "command": comparison.command,
        **{name: getattr(analysis, name) for name in names},
        "tasks": (_task(comparison, task) for task in analysis.tasks),
        "families": {family: _ranks(ranks) for family, ranks in analysis.families.items()},
        "tables": Entries((table.name, table_document(table)["rows"]) for table in tables(comparison, cells="numbers")),
        "settings": comparison.settings,
        "machine": asdict(comparison.machine) if comparison.machine else {},
        "made": provenance(comparison),
        "method": method(comparison),
        "failures": comparison.failures,
    }


def _task(comparison: Comparison, task: TaskAnalysis) -> dict[str, Any]:
    return unfolded(task) | {
        "headline": task.shown.name,
        "metric": comparison.metrics.get(task.task),
        "trained": comparison.trained.get(task.task),
        "ranges": (unfolded(r) | {"ranks": _ranks(r.ranks)} for r in task.ranges),
        "reach": {encoding: unfolded(own) | _middle(own) for encoding, own in task.reach.items()},
        "steps": {name: _steps(own) for name, own in task.steps.items()},
        "pairs": Lines(unfolded(pair) | {"claim": pair.claim} for pair in task.pairs),
        "sentences": sentences(comparison.analysis, task),
        "why": task_reason(comparison, task) or None,
        "alarms": ({"kind": alarm.kind, "facts": vars(alarm), "text": alarm.sentence()} for alarm in task.alarms),
    }


def _steps(own: Steps) -> dict[str, Any]:
    ends = {"ends": [unfolded(end) for end in own.ends], "seeds": own.seeds, "rising": own.rising}
    return unfolded(own) | ends | (_middle(own) if own.ends else {})


def _middle(spread: Reach | Steps) -> dict[str, float | None]:
    low, high = spread.interval or (None, None)
    return {"median": spread.median, "low": low, "high": high}


def _ranks(ranks: AverageRanks | None) -> dict[str, Any] | None:
    return None if ranks is None else unfolded(ranks) | {"groups": ranks.groups}
