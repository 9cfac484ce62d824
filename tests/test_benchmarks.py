"""Every part of the benchmarks runs, at sizes that take seconds; and its bounds are those of the documents."""

import json
import math
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ordinate import encodings
from ordinate.report.overhead import MEASURED
from ordinate.training import baselines
from ordinate.training.measured_model import make_model

sys.path.insert(0, str(Path(__file__).parents[1]))
PARTS = import_module("benchmarks.__main__").PARTS
step = import_module("benchmarks.step")
COSTS = json.loads(MEASURED.read_text())["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_it_measures(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "SEQUENCES", 1000)  # stored before anything is timed, and read by all processes
    tables = import_module(f"benchmarks.{part}").run(1, tiny=True)
    assert tables and all(tables.values())
    for row in (row for rows in tables.values() for row in rows):
        in_pages = row.against.endswith("MB")  # memory of a tiny case may fit into pages that the process has already
        assert math.isfinite(row.ratio) and (row.ratio > 0 or (in_pages and row.ratio == 0)), row
        assert row.verdict in ("", "ok", "MISSED")


def test_the_bound_of_a_family_is_a_little_over_its_slowest_encoding() -> None:
    slowest = dict.fromkeys(step.BOUNDS, 0.0)
    for row in COSTS:
        if row["encoding"] != "none" and row["axes"] == 1:
            family = step.family_of(make_model(row["encoding"], dim=32, heads=2, layers=1, length=16).per_layer[0])
            slowest[family] = max(slowest[family], row["step"]["best"])
    # A new encoding is in no table until `ordinate bench` has measured it; one that is gone must not stay there.
    assert {row["encoding"] for row in COSTS} <= set(encodings.names())
    for family, bound in step.BOUNDS.items():
        assert slowest[family] < bound < 1.15 * slowest[family], (family, slowest[family])
