"""Formulas as pictures: LaTeX is set by matplotlib, so that a page needs no script and no font for it."""

import io
import re

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

SIZE = 15  # points
MARGIN = 2  # points
# What matplotlib's subset of LaTeX writes in another way.
REWRITTEN = {
    r"\\frac(?![a-zA-Z])": r"\\dfrac",
    r"\\tfrac(\d)(\d)": r"\\frac{\1}{\2}",
    r"\\tfrac(\d)": r"\\frac{\1}",
    r"\\tfrac": r"\\frac",
    r"\\sqrt ?([a-zA-Z])": r"\\sqrt{\1}",
    r"\\mathcal ([A-Z])": r"\\mathcal{\1}",
    r"\\[bB]igg?[lr]?(?=[^a-zA-Z])": "",
    r"\\bmod(?![a-zA-Z])": r"\\;\\mathrm{mod}\\;",
    r"\\le(?![a-zA-Z])": r"\\leq",
    r"\\[lr]Vert(?![a-zA-Z])": r"\\Vert",
    r"\\text\{([^}]*)'([^}]*)\}": "\\\\text{\\1\u2019\\2}",
}


def svg(formula: str) -> str:
    """A formula, black on nothing, as large as its letters need; the same text every time."""
    for pattern, replacement in REWRITTEN.items():
        formula = re.sub(pattern, replacement, formula)
    with matplotlib.rc_context({"mathtext.fontset": "cm", "svg.hashsalt": "ordinate", "svg.fonttype": "path"}):
        letters = FontProperties(size=SIZE)
        width, height, depth, *_ = MathTextParser("path").parse(f"${formula}$", dpi=72, prop=letters)
        sheet = Figure(figsize=((width + 2 * MARGIN) / 72, (height + depth + 2 * MARGIN) / 72))
        at = MARGIN / (width + 2 * MARGIN), (depth + MARGIN) / (height + depth + 2 * MARGIN)
        sheet.text(*at, f"${formula}$", fontproperties=letters)
        sheet.savefig(out := io.StringIO(), format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return out.getvalue()
