"""A comparison as one HTML file that needs no network: verdicts first, then all that they rest on."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from ordinate import __version__
from ordinate.core.extras import optional
from ordinate.report.chart import Figure, Heat, file_names, thin
from ordinate.report.colors import Style, styles
from ordinate.report.comparison_tables import tables
from ordinate.report.draw_plotly import SETTINGS, draw, height
from ordinate.report.figures import MOST_TASKS, figures
from ordinate.report.glossary import marked, used
from ordinate.report.method import method, provenance
from ordinate.report.outcomes import MATRIX_NOTE, outcomes
from ordinate.report.ranking import MOST_RANKED
from ordinate.report.summary import SummaryColumn, by_score, summary_columns, summary_note, winner
from ordinate.report.table import Table, comma_separated, first_rows, is_number, shown
from ordinate.report.task_words import words_of_tasks
from ordinate.report.verdict_reason import probed, task_reason
from ordinate.results.comparison import Comparison
from ordinate.statistics.alarms import alarm_lines
from ordinate.statistics.phrases import MOST_LISTED, cell_words, counted, css_class, endpoints_words, unranked_words
from ordinate.statistics.sentences import sentences
from ordinate.statistics.types import Analysis, Range, TaskAnalysis

MOST_ROWS = 500  # of a table on the page
MOST_DOWNLOADED = 20_000  # rows that the page keeps for a download: more make it slow to open
MOST_RANGES = 60  # columns of a table of scores
MOST_CHIPS = 100  # encodings named above everything else
ORDER = "Rows go by the score on the headline range, ranked or not; encodings without one come last."
KINDS = ("gate", "probability of improvement", "Holm", "critical difference", "pilot seed")  # of tables and alarms


def page(comparison: Comparison) -> str:
    """The whole document."""
    template = environment().from_string(page_part("template.html.jinja"))
    from markupsafe import Markup  # comes with jinja2

    looks = styles(comparison.analysis.encodings)
    drawn = figures(comparison)
    shown_tasks = comparison.analysis.tasks[:MOST_TASKS]
    few = [task for task in shown_tasks if len(task.ranges) <= MOST_RANGES]
    all_tables = tuple(tables(comparison, few, cells="numbers"))
    anchors = file_names(task.task for task in shown_tasks)
    behind = {
        "settings": SETTINGS,
        "figures": [{"name": figure.name, **draw(figure)} for figure in drawn],
        "tables": {table.name: comma_separated(first_rows(table, MOST_DOWNLOADED)) for table in all_tables},
    }
    results = "".join(comma_separated(table) for table in all_tables if table.name == "results")
    names = ", ".join(task.task for task in shown_tasks[:MOST_LISTED]) + ", ..." * (len(shown_tasks) > MOST_LISTED)
    summaries = dict(zip((task.task for task in few), (table.name for table in all_tables), strict=False))
    about = words_of_tasks(comparison)
    told = [
        _task(comparison, task, anchors[task.task], drawn)
        | {"summary": summaries.get(task.task), "about": about.get(task.task)}
        for task in shown_tasks
    ]
    machine = asdict(comparison.machine) if comparison.machine else {}
    document: str = template.render(
        title=f"Positional encodings on {names}" if names else "Positional encodings",
        comparison=comparison, analysis=comparison.analysis, version=__version__, chips=MOST_CHIPS,
        colors={name: style.color for name, style in looks.items()},
        tasks=told, method=method(comparison), made=provenance(comparison), words=used(_prose(told)),
        left_out=_left_out(comparison.analysis),
        families=[_figure(index, figure) for index, figure in enumerate(drawn) if not figure.task],
        tables={table.name: _table(table, looks) for table in all_tables},
        machine={key: _text(value) for key, value in machine.items()},
        checksum=hashlib.sha256(results.encode("utf-8", "backslashreplace")).hexdigest(),
        style=Markup(page_part("style.css")), script=Markup(page_part("page.js")), plotly=Markup(plotly_script()),
        data=Markup(for_script(behind)),
    )  # fmt: skip
    return document.lstrip()


def environment() -> Any:
    """What templates of pages are made with: every text is escaped, and an unknown name is an error."""
    jinja2 = optional("jinja2")
    from markupsafe import Markup  # comes with jinja2

    strict = jinja2.StrictUndefined
    made = jinja2.Environment(autoescape=True, undefined=strict, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"words": cell_words, "css_class": css_class, "unranked": unranked_words}
    seen: set[str] = set()  # terms that the page has explained before
    made.filters["terms"] = lambda text: Markup(marked(text, seen))
    made.globals |= {"explained": seen, "matrix_note": MATRIX_NOTE}
    return made


def _prose(tasks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The texts whose words are explained."""
    for task in tasks:
        yield from (*task["sentences"], *(text for _, text in task["alarms"]), task["note"], *KINDS)


def _left_out(analysis: Analysis) -> list[str]:
    """What there is too much of for a page, in sentences."""
    tasks, encodings = len(analysis.tasks), max((len(task.encodings) for task in analysis.tasks), default=0)
    ranges = max((len(task.ranges) for task in analysis.tasks), default=0)
    return [
        f"{what} are {kind}"
        for many, most, what, kind in (
            (tasks, MOST_TASKS, f"the first {MOST_TASKS} of {tasks:,} tasks", "shown one by one"),
            (encodings, MOST_ROWS, f"the best {MOST_ROWS} of {encodings:,} encodings", "in a table of scores"),
            (encodings, MOST_RANKED, f"ranks of more than {MOST_RANKED} encodings", "in their table and in no picture"),
            (ranges, MOST_RANGES, f"{MOST_RANGES} of {ranges:,} ranges, and the headline,", "in a table of scores"),
        )
        if many > most
    ]


def page_part(name: str) -> str:
    return files("ordinate.report").joinpath(name).read_text(encoding="utf-8")


def plotly_script() -> str:
    """Plotly's program. It holds no end of a script today; if it ever did, the page would end there."""
    return str(optional("plotly.offline").get_plotlyjs()).replace("</script", r"<\/script").replace("<!--", r"<\!--")


def for_script(content: Any) -> str:
    """JSON that no text in it can end, whatever names people choose."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _why_table(comparison: Comparison, task: TaskAnalysis) -> dict[str, Any] | None:
    """What the heads of each encoding do, where probes of runs are stored."""
    if not probed(comparison):
        return None
    from ordinate.report.why import why_table, whys

    reasons = whys(comparison, task)
    return _table(why_table(reasons), styles(task.encodings)) if reasons else None


def _task(comparison: Comparison, task: TaskAnalysis, anchor: str, drawn: tuple[Figure, ...]) -> dict[str, Any]:
    """What the page says about one task."""
    low, high = comparison.trained.get(task.task, (None, None))
    lengths = None if high is None else f"{low} to {high}" if low != high else str(high)
    metric, columns = comparison.metrics.get(task.task, "score"), summary_columns(task, _shown_ranges(task))
    mine = [(index, figure) for index, figure in enumerate(drawn) if figure.task == task.task]
    return {
        "name": task.task, "anchor": f"task-{anchor}", "metric": metric, "lengths": lengths,
        "endpoints": endpoints_words(task), "needs": _needs(comparison.analysis), "analysis": task,
        "sentences": sentences(comparison.analysis, task), "why": task_reason(comparison, task),
        "why_table": _why_table(comparison, task),
        "alarms": list(alarm_lines(task.alarms)),
        "columns": columns, "rows": [_row(task, encoding, columns) for encoding in by_score(task)[:MOST_ROWS]],
        "note": f"{summary_note(task, metric)} {ORDER if len(task.encodings) > 1 else ''}",
        "outcomes": outcomes(task),
        "charts": [_figure(index, figure) for index, figure in mine if not isinstance(figure, Heat)],
        "maps": _by_group(mine),
    }  # fmt: skip


def _by_group(figures: Sequence[tuple[int, Figure]]) -> dict[str, list[dict[str, Any]]]:
    """The maps of each encoding."""
    found: dict[str, list[dict[str, Any]]] = {}
    for index, figure in figures:
        if isinstance(figure, Heat):
            found.setdefault(figure.group, []).append(_figure(index, figure))
    return found


def _shown_ranges(task: TaskAnalysis) -> list[Range]:
    """As many as a table can have columns, evenly spread, and the headline."""
    chosen = {*thin(len(task.ranges), MOST_RANGES), task.headline}
    return [task.ranges[index] for index in sorted(chosen)]


def _needs(analysis: Analysis) -> str:
    """How many seeds a claim takes."""
    if not analysis.seeds_needed:
        return ""
    return f"; a claim takes {counted(analysis.seeds_needed, 'seed')}"


def _row(task: TaskAnalysis, encoding: str, columns: Sequence[SummaryColumn]) -> list[dict[str, Any]]:
    """The cells of one encoding: the text, the number to sort by, and the scores of a range or of the verdict."""
    cells = []
    for column in columns:
        value, r = column.value(task, encoding), task.shown if column.name == "verdict" else column.range
        cells.append({
            "text": column.shown(task, encoding),
            "value": None if isinstance(value, str | bool) else value,
            "scores": r and r.cell(encoding),
            "range": column.range,
            "bold": column.range is task.shown and winner(task) == encoding,
        })  # fmt: skip
    return cells


def _figure(index: int, figure: Figure) -> dict[str, Any]:
    drawn = bool(figure.panels) if isinstance(figure, Heat) else True
    looks = [f"{panel.title}, {panel.note}" for panel in figure.panels[:1]] if isinstance(figure, Heat) else []
    facts = {"index": index, "name": figure.name, "title": figure.title, "note": figure.note}
    return {**facts, "drawn": drawn, "looks": looks, "height": height(figure)}


def _table(table: Table, looks: dict[str, Style]) -> dict[str, Any]:
    """Cells as text, with the value to sort by."""
    first = first_rows(table, MOST_ROWS)
    numbers = [is_number(index, first) for index in range(len(table.columns))]
    named = [column.name in ("encoding", "first", "second") for column in table.columns]
    rows = []
    for index, row in enumerate(first.rows):
        cells = []
        for at, (value, column) in enumerate(zip(row, table.columns, strict=True)):
            color = looks[value].color if named[at] and isinstance(value, str) and value in looks else ""
            cells.append((shown(value, column), value if numbers[at] else None, (index, at) in table.bold, color))
        rows.append(cells)
    kept = min(len(table.rows), MOST_DOWNLOADED)
    return {"table": table, "numbers": numbers, "rows": rows, "count": len(table.rows), "kept": kept}
