"""Writes docs/DEPTH.md and its pictures: `python docs/depth.py [STORE ...]`.

The runs are those of the study `depth`, measured by `ordinate study probe depth`; time and memory come from
docs/length_cost.json. Of several stores the one with most runs is read; without any, the results that come with the
program.
"""

import json
import sys
from pathlib import Path
from typing import Any

from ordinate.report.depth.models import Runs
from ordinate.report.depth.page import answers, page, picture
from ordinate.report.draw_matplotlib import vector
from ordinate.store import open_store
from ordinate.store.examples import open_examples
from ordinate.studies.depth_runs import depth_runs

DOCS = Path(__file__).parent
PAGE = DOCS / "DEPTH.md"


def cost_rows() -> list[dict[str, Any]]:
    """What was measured by length."""
    path = DOCS / "length_cost.json"
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


def found(names: list[str]) -> Runs:
    stores = [open_store(name) for name in names] or [open_examples()]
    return max(map(depth_runs, stores), key=lambda runs: sum(map(len, runs.values())))


def document(runs: Runs) -> str:
    """The page, as it should be."""
    return page(runs, cost_rows())


if __name__ == "__main__":
    runs = found(sys.argv[1:])
    PAGE.write_text(document(runs), encoding="utf-8")
    print(PAGE)
    for answer in answers(runs, cost_rows()):
        for chart in answer.charts:
            (DOCS / picture(chart)).write_bytes(vector(chart))
