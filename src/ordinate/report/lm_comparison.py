"""The report of a comparison or study of language models: on a terminal, as a page, and as data."""

from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ordinate import __version__
from ordinate.core.display import escaped
from ordinate.report.json_document import as_json, table_document
from ordinate.report.latex import latex
from ordinate.report.lm_comparison_figures import figures
from ordinate.report.lm_comparison_tables import losses, published, runs, tables
from ordinate.report.lm_comparison_words import protocol_sentence, words
from ordinate.report.table import Table, comma_separated, is_number, markdown, markdown_text, shown
from ordinate.report.write import known
from ordinate.studies.lm.study import LMStudyOutcome

ON_TERMINAL = ("encoding", "trained", "reach", "seeds")  # columns, and those of each multiple


def show(outcome: LMStudyOutcome, console: Console) -> None:
    """On about one screen: each comparison as a table, then what was found."""
    study = outcome.study
    console.print(Text(f"{study.title}: {study.question}" if study.question else study.title, "bold"))
    for number, part in enumerate(outcome.parts):
        if not part.found.records:
            continue
        table = losses(part, number, several=len(outcome.parts) > 1)
        if len(outcome.parts) > 1:
            console.print(Text(f"\n{part.part.name}", "bold"))
        console.print(Text(protocol_sentence(part.found), "dim"))
        console.print(_rich(_short(table)))
    if (stated := published(outcome)).rows and any(part.found.records for part in outcome.parts):
        console.print(Text(f"\n{stated.title}", "bold"))
        console.print(_rich(stated))
    console.print()
    for line in words(outcome):
        console.print(Text(line))


def _short(table: Table) -> Table:
    """Without columns that are on the page; intervals where pairs are tested: at the trained length and at twice it."""
    kept = [at for at, column in enumerate(table.columns) if column.name in ON_TERMINAL or column.name[-1:] == "x"]
    plain = {at for at in kept if table.columns[at].name not in ("trained", "2x")}
    rows = [
        tuple(v.partition(" [")[0] if at in plain and isinstance(v := row[at], str) else row[at] for at in kept)
        for row in table.rows
    ]
    return Table(table.name, table.title, tuple(table.columns[at] for at in kept), rows)


def _rich(table: Table) -> RichTable:
    drawn = RichTable(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(table.columns):
        title, justify = column.title.removeprefix("long text, "), "right" if is_number(at, table) else "left"
        drawn.add_column(title, justify=justify, no_wrap=column.name != "text")  # type: ignore[arg-type]
    for row in table.rows:
        drawn.add_row(*(escaped(shown(value, column)) for value, column in zip(row, table.columns, strict=True)))
    return drawn


def render(outcome: LMStudyOutcome, form: str) -> str:
    """One document: the page, words and tables as md, tex or json, or the runs alone as csv."""
    known(form)
    study, made = outcome.study, tables(outcome)
    if form == "html":
        return page(outcome)
    if form == "csv":
        return comma_separated(runs(outcome))
    if form == "json":
        return as_json(document(outcome))
    lines = words(outcome, most=99)
    if form == "tex":
        return "\n".join([*(f"% {line}" for line in lines), "", *(latex(table) for table in made)])
    head = f"# {markdown_text(study.title)}\n\n{markdown_text(study.question)}\n\n{markdown_text(study.source)}\n\n"
    said = "\n".join(f"- {markdown_text(line)}" for line in lines)
    return "\n".join([f"{head}{said}\n\n```\n{outcome.again}\n```\n", *(markdown(table) for table in made)])


def document(outcome: LMStudyOutcome) -> dict[str, Any]:
    """All of it as data."""
    study = outcome.study
    return {
        "name": study.name, "title": study.title, "question": study.question, "source": study.source,
        "finished": outcome.finished, "sentences": words(outcome, most=99), "command": outcome.again,
        "parts": [
            {
                "name": part.part.name, "about": part.part.about, "protocol": protocol_sentence(part.found),
                "runs": len(part.found.comparison.distinct_runs), "missing": part.found.missing,
                "reach": {arm: part.found.reaches(arm) for arm in part.found.comparison.names},
                "scores": part.found.analysis.records() if part.found.analysis else [],
                "failures": dict(part.found.failures),
            }
            for part in outcome.parts
        ],
        "tables": {table.name: list(table_document(table)["rows"]) for table in tables(outcome)},
    }  # fmt: skip


def page(outcome: LMStudyOutcome) -> str:
    """One HTML file that needs no network."""
    from markupsafe import Markup

    from ordinate.report.draw_plotly import SETTINGS, draw, height
    from ordinate.report.html import environment, for_script, page_part, plotly_script

    drawn, made = figures(outcome), tables(outcome)
    behind = {
        "settings": SETTINGS, "figures": [{"name": figure.name, **draw(figure)} for figure in drawn],
        "tables": {table.name: comma_separated(table) for table in made},
    }  # fmt: skip
    parts = [
        {"part": {"name": part.part.name, "about": part.part.about, "command": "",
                  "protocol": protocol_sentence(part.found)},
         "runs": len(part.found.comparison.distinct_runs),
         "done": len(part.found.comparison.distinct_runs) - part.found.missing}
        for part in outcome.parts
    ]  # fmt: skip
    text: str = (
        environment()
        .from_string(page_part("study.html.jinja"))
        .render(
            study=outcome.study, outcome={"parts": parts}, again=outcome.again, words=words(outcome, most=99),
            version=__version__, tables=[(table, list(table.texts(str, "{}"))) for table in made],
            figures=[(index, figure, height(figure)) for index, figure in enumerate(drawn)],
            style=Markup(page_part("style.css")), script=Markup(page_part("page.js")), plotly=Markup(plotly_script()),
            data=Markup(for_script(behind)),
        )
    )  # fmt: skip
    return text.lstrip()
