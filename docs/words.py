"""The words of tables and reports: `python docs/words.py` writes words.md from the list that reports use."""

from pathlib import Path

from ordinate.report.glossary import TERMS
from ordinate.report.table import markdown_text

PAGE = Path(__file__).with_name("words.md")
HEAD = """# How to read the words

What the words of tables, verdicts and reports mean. [How a comparison is made](comparisons.md) has the rules behind
them, its [table of verdict words](comparisons.md#words) what each seed can be called, and its
[table of alarms](comparisons.md#alarms) what may be wrong.

A cell such as `6/6, 3.4x` says: six of six seeds learned the task, and in the median they hold to 3.4 times the
trained length. `4.0x+`: to the longest length that was tested. `0/6, rising`: no seed learned it, and the score was
still rising when the budget ended.

"""


def page() -> str:
    """The page, from the words of reports."""
    rows = (f"| **{markdown_text(term.name)}** | {markdown_text(term.meaning)} |" for term in TERMS)
    return HEAD + "\n".join(("| word | meaning |\n|---|---|", *rows)) + "\n\nWritten by `python docs/words.py`.\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
