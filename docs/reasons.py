"""Writes docs/REASONS.md and its pictures: `python docs/reasons.py [STORE ...]`.

Predictions of the study `reasons` with their outcomes, and what finished studies answer of S4's open questions. Without
a store, the results that come with the program are read.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from ordinate.report.draw_matplotlib import vector
from ordinate.report.reasons.page import STUDIES, charts, page
from ordinate.store import Store, open_store
from ordinate.store.examples import open_examples
from ordinate.studies import study_file
from ordinate.studies.study_outcome import study_outcome

DOCS = Path(__file__).parent
PAGE = DOCS / "REASONS.md"


def document(stores: Sequence[Store]) -> str:
    """The page, as it should be."""
    return page({name: study_outcome(study_file.load(name), stores) for name in STUDIES})


if __name__ == "__main__":
    chosen = [open_store(name) for name in sys.argv[1:]] or [open_examples()]
    PAGE.write_text(document(chosen), encoding="utf-8")
    print(PAGE)
    for chart in charts():
        (DOCS / f"reasons-{chart.name}.svg").write_bytes(vector(chart))
