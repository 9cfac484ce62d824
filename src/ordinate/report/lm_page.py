"""Evaluations of language models as one HTML file that needs no network."""

from collections.abc import Sequence

from ordinate import __version__
from ordinate.report.draw_plotly import SETTINGS, draw, height
from ordinate.report.html import environment, for_script, page_part, plotly_script
from ordinate.report.lm_figures import figures
from ordinate.report.lm_tables import all_tables
from ordinate.report.lm_words import comparison, remarks
from ordinate.report.table import comma_separated, is_number
from ordinate.results.lm_evaluation import LanguageModelEvaluation


def evaluation_page(evaluations: Sequence[LanguageModelEvaluation]) -> str:
    """What was found, in words, tables and pictures."""
    from markupsafe import Markup  # comes with jinja2

    drawn, tables = figures(evaluations), all_tables(evaluations)
    behind = {
        "settings": SETTINGS, "figures": [{"name": figure.name, **draw(figure)} for figure in drawn],
        "tables": {table.name: comma_separated(table) for table in tables},
    }  # fmt: skip
    numbers = {table.name: [is_number(at, table) for at in range(len(table.columns))] for table in tables}
    document: str = (
        environment()
        .from_string(page_part("lm.html.jinja"))
        .render(
            title=f"Evaluation of {', '.join(found.name for found in evaluations)}", version=__version__,
            evaluations=evaluations, words=[(found.name, remarks(found)) for found in evaluations],
            compared=comparison(evaluations), numbers=numbers,
            tables=[(table, list(zip(table.texts(str, "{}"), table.rows, strict=True))) for table in tables],
            figures=[(index, figure, height(figure)) for index, figure in enumerate(drawn)],
            style=Markup(page_part("style.css")), script=Markup(page_part("page.js")), plotly=Markup(plotly_script()),
            data=Markup(for_script(behind)),
        )
    )  # fmt: skip
    return document.lstrip()
