"""The report of a study: what holds of what was published, the verdict of each comparison, and their scores."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ordinate import __version__
from ordinate.report.chart import Figure, file_names
from ordinate.report.colors import styles
from ordinate.report.curves import by_length, learning
from ordinate.report.json_document import as_json, table_document
from ordinate.report.latex import latex
from ordinate.report.study_tables import measured_text, published_text, results, tables
from ordinate.report.table import comma_separated, markdown, markdown_text
from ordinate.report.write import known
from ordinate.statistics.alarms import alarm_lines
from ordinate.statistics.phrases import called, counted, listed, p_words
from ordinate.statistics.replication import Agreement, Order
from ordinate.statistics.sentences import sentences
from ordinate.studies import measures
from ordinate.studies.claims import claim_outcome
from ordinate.studies.study_definition import Published, PublishedClaim
from ordinate.studies.study_outcome import PartOutcome, StudyOutcome

BOTTOM_LINE = 3  # sentences of a comparison: what to use, where others are higher, how far each holds
ALREADY_SAID = ("gate", "unfinished", "budget")  # by the number of seeds that learned the task, and how others ended


LEGEND = (
    "Scores: mean in distribution / at the headline length, seeds that learned the task, reach in multiples of the "
    "trained length. A claim tests its own few pairs; a verdict corrects over all pairs, so it may leave open what a "
    "claim shows."
)


def show(outcome: StudyOutcome, console: Console) -> None:
    """On one screen of a terminal: the question, what holds, the numbers, the verdicts, and where there is more."""
    study = outcome.study
    console.print(Text(f"{study.title}: {study.question}", "bold"))
    for line in _verdicts(outcome, 1):
        console.print(Text(line))
    for table in tables(outcome):
        if table.name == "protocols":
            continue
        console.print()
        drawn = RichTable(title=table.title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for column in table.columns:
            drawn.add_column(column.title, overflow="fold")
        for cells in table.texts(str, "{}"):
            drawn.add_row(*(Text(text or "-", _style(text)) for text in cells))
        console.print(drawn)
    console.print()
    for line in chain(_replicated(outcome, only_explained=True), _interactions(outcome), _missing(outcome)):
        console.print(Text(line))
    if any(part.comparison for part in outcome.parts):
        console.print(Text(LEGEND, "dim"))
    name = shlex.quote(study.typed)
    console.print(Text(f"How each number is made, settings and pictures: ordinate report {name} -o page.html", "dim"))


def _style(text: str) -> str:
    if text.startswith(f"{Order.HOLDS}:") or text.endswith(Agreement.AGREES):
        return "green"
    return "yellow" if text.startswith((Order.REFUTED, Order.REVERSED)) or text.endswith(Agreement.DIFFERS) else ""


def words(outcome: StudyOutcome) -> list[str]:
    """What agrees with what was published and what explains the rest, and the verdict of each finished comparison."""
    said = (_replicated(outcome), _interactions(outcome), _verdicts(outcome, BOTTOM_LINE), _missing(outcome))
    return list(chain(*said))


def _replicated(outcome: StudyOutcome, *, only_explained: bool = False) -> Iterator[str]:
    """How published figures fare. `only_explained`: name those that differ only if other settings were tried."""
    for part in outcome.parts:
        if part.part.published and part.values:
            yield from _held(outcome, part, only_explained)


def _interactions(outcome: StudyOutcome) -> Iterator[str]:
    for name, test in outcome.interactions().items():
        above, below = test.freedom
        verb = "depends" if test.p < 0.05 else "is not shown to depend"
        numbers = f"F({above:.0f}, {below:.0f}) = {test.f:.1f}, {p_words(test.p)}"
        over = listed([measures.find(measure).title for measure in outcome.study.interaction])
        yield f"Interaction: the course of {called(name)} over {over} {verb} on the comparison ({numbers})."


def _verdicts(outcome: StudyOutcome, sentences_each: int) -> Iterator[str]:
    """Of each comparison that has results, with its alarms; with its task where a study has several."""
    tasks = {task for part in outcome.study.parts for task in part.tasks}
    for part in outcome.parts:
        for task in part.comparison.analysis.tasks if part.comparison else ():
            assert part.comparison is not None
            said = " ".join(sentences(part.comparison.analysis, task)[:sentences_each])
            named = f" on {task.task}" if len(tasks) > 1 else ""
            yield f"{_title(part)}{named}, {counted(len(task.seeds), 'seed')}: {said}"
            for kind, text in alarm_lines(task.alarms):
                if kind not in ALREADY_SAID:
                    yield f"{_title(part)}, alarm, {kind}: {text}."


def _missing(outcome: StudyOutcome) -> list[str]:
    missing = [part.part.name for part in outcome.parts if not part.finished]
    if not missing:
        return []
    some = listed(missing) if len(missing) < len(outcome.parts) else "all of it"
    return [f"Still to be run: {some}. Go on with  {again(outcome)}"]


def again(outcome: StudyOutcome) -> str:
    """The command that goes on with a study."""
    return shlex.join(["ordinate", "study", "run", outcome.study.typed]) + outcome.option


def _title(part: PartOutcome) -> str:
    return part.part.name[:1].upper() + part.part.name[1:]


def _held(outcome: StudyOutcome, part: PartOutcome, only_explained: bool) -> Iterator[str]:
    """How many published figures lie among the seeds, what explains each that differs, and what that costs."""
    held = _agreements(part, part)
    if not held:
        return
    yield f"{_title(part)}: {_agreeing(held)}."
    for figure in (figure for figure, found in held.items() if found is Agreement.DIFFERS):
        measure = measures.find(figure.measure)
        name = f"{called(figure.encoding)}, {measure.title}"
        stated = f"{name}: published {published_text(figure)}, measured {measured_text(part, figure)}"
        tried = [other for other in outcome.like(part) if other.measured(figure.encoding, figure.measure)]
        explains = [
            f"{measured_text(other, figure)} with {other.part.difference}"
            for other in tried
            if other.agreement(figure) is Agreement.AGREES
        ]
        if explains:
            yield f"{stated}; explained by {' or '.join(explains)}."
        elif tried or not only_explained:
            seen = [f"{measured_text(other, figure)} with {other.part.difference}" for other in tried]
            yield f"{stated}{'; not explained by ' + ', '.join(seen) if seen else ''}."
    for other in outcome.like(part):
        if found := _agreements(part, other):
            agreed = [figure for figure, before in held.items() if before is Agreement.AGREES and figure in found]
            lost = sum(found[figure] is not Agreement.AGREES for figure in agreed)
            cost = f"of the {len(agreed)} that agree as stated, {lost} no longer do"
            yield f"With {other.part.difference}: {_agreeing(found)}; {cost}."


def _agreements(stated: PartOutcome, measured: PartOutcome) -> dict[Published, Agreement]:
    """The published figures of one comparison that another has measured."""
    return {figure: found for figure in stated.part.published if (found := measured.agreement(figure)) is not None}


def _agreeing(held: Mapping[Published, Agreement]) -> str:
    """`7 of 10 published figures agree, 1 more is possible`."""
    good, possible = (list(held.values()).count(word) for word in (Agreement.AGREES, Agreement.POSSIBLE))
    more = f", {possible} more {'is' if possible == 1 else 'are'} possible" if possible else ""
    return f"{good} of {counted(len(held), 'published figure')} {'agrees' if good == 1 else 'agree'}{more}"


def render(outcome: StudyOutcome, format: str) -> str:
    """One document: the page, words and tables as md, tex or json, or all results as csv."""
    known(format)
    study, made = outcome.study, tables(outcome)
    if format == "html":
        return page(outcome)
    if format == "csv":
        return comma_separated(results(outcome))
    if format == "json":
        return as_json(document(outcome))
    if format == "tex":
        return "\n".join([*(f"% {line}" for line in words(outcome)), "", *(latex(table) for table in made)])
    lines = "\n".join(f"- {markdown_text(line)}" for line in words(outcome))
    head = f"# {markdown_text(study.title)}\n\n{markdown_text(study.question)}\n\n{markdown_text(study.source)}\n\n"
    return "\n".join([f"{head}{lines}\n\n```\n{again(outcome)}\n```\n", *(markdown(t) for t in made)])


def document(outcome: StudyOutcome) -> dict[str, Any]:
    """All of it as data."""
    study = outcome.study
    return {
        "name": study.name, "title": study.title, "question": study.question, "source": study.source,
        "finished": outcome.finished, "sentences": words(outcome),
        "parts": [
            {
                "name": part.part.name, "command": part.part.command, "differs": dict(part.part.differs),
                "done": part.done, "runs": part.runs,
                "published": [vars(figure) | {"agrees": part.agreement(figure)} for figure in part.part.published],
                "values": [{"task": t, "encoding": e, "measure": m, "values": list(v)}
                           for (t, e, m), v in part.values.items()],
                "claims": {claim.text: claim_document(claim, part) for claim in study.claims},
            }
            for part in outcome.parts
        ],
        "tables": {table.name: list(table_document(table)["rows"]) for table in tables(outcome)},
    }  # fmt: skip


def claim_document(claim: PublishedClaim, part: PartOutcome) -> dict[str, Any] | None:
    """What becomes of a claim, with its pairs and counts of seeds."""
    found = claim_outcome(claim, part)
    if found is None:
        return None
    pairs = [{"better": one, "worse": two, **vars(pair)} for (one, two), pair in found.pairs.items()]
    return {"outcome": found.order, "pairs": pairs, "learned": found.learned, "extrapolated": found.extrapolated}


def figures(outcome: StudyOutcome) -> tuple[Figure, ...]:
    """Scores by length and learning curves of every comparison, titled by its part."""
    found: list[Figure] = []
    for part in outcome.parts:
        if part.comparison is None:
            continue
        looks = styles(part.comparison.analysis.encodings)
        for task in part.comparison.analysis.tasks:
            for chart in (by_length(part.comparison, task, looks), learning(part.comparison, task, looks)):
                if chart is not None:
                    title = f"{part.part.name}: {chart.title}"
                    found.append(replace(chart, name=f"{part.part.name} {chart.name}", title=title))
    names = file_names(figure.name for figure in found)
    return tuple(replace(figure, name=names[figure.name]) for figure in found)


def page(outcome: StudyOutcome) -> str:
    """One HTML file that needs no network."""
    from markupsafe import Markup

    from ordinate.report.draw_plotly import SETTINGS, draw, height
    from ordinate.report.html import environment, for_script, page_part, plotly_script

    drawn, made = figures(outcome), tables(outcome)
    behind = {
        "settings": SETTINGS, "figures": [{"name": figure.name, **draw(figure)} for figure in drawn],
        "tables": {table.name: comma_separated(table) for table in made},
    }  # fmt: skip
    document: str = (
        environment()
        .from_string(page_part("study.html.jinja"))
        .render(
            study=outcome.study, outcome=outcome, again=again(outcome), words=words(outcome), version=__version__,
            tables=[(table, list(table.texts(str, "{}"))) for table in made],
            figures=[(index, figure, height(figure)) for index, figure in enumerate(drawn)],
            style=Markup(page_part("style.css")), script=Markup(page_part("page.js")), plotly=Markup(plotly_script()),
            data=Markup(for_script(behind)),
        )
    )  # fmt: skip
    return document.lstrip()
