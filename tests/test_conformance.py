"""What the page on other libraries says is what they still do, and our own encodings keep every contract."""

import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
conformance = import_module("benchmarks.conformance")
CONTRACTS = import_module("benchmarks.contracts").CONTRACTS

TEXT = conformance.PAGE.read_text()
FAULTS = conformance.faults()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_every_snippet_shows_what_the_page_says(fault: Any) -> None:
    assert 4 <= len([line for line in fault.code.splitlines() if line.strip()]) <= 12
    assert f"### {fault.title}\n\n{fault.words}\n\n```python\n{fault.code}\n```\n\n```\n{fault.shows()}\n```" in TEXT


def test_the_page_is_about_the_installed_versions() -> None:
    assert TEXT.startswith(conformance.HEAD)
    packages = {row[0] for row in ROWS[1:]}
    assert len(packages) == 7
    for package in packages:
        assert f"\n- {package} {version(package)}\n" in TEXT, "python -m benchmarks.conformance --write"


def test_every_failure_in_the_table_has_its_snippet() -> None:
    assert ROWS[0][2:] == list(CONTRACTS)
    cells = {(row[0], row[1], name): cell for row in ROWS[1:] for name, cell in zip(CONTRACTS, row[2:], strict=True)}
    linked = {where: re.search(r"#(\w+)", cell) for where, cell in cells.items() if "no" in cell}
    assert {where: fault.name for fault in FAULTS for where in fault.failures} == {
        where: link[1] for where, link in linked.items() if link
    }


@pytest.mark.parametrize("name", ["sinusoidal", "rope", "alibi", "t5"])
def test_our_encodings_keep_every_contract(name: str) -> None:
    """Some of them: all go through the contract tests of this project, which ask for more."""
    own = import_module("benchmarks.subjects.ours").Own(name)
    found = {contract: said for (_, _, contract), said in conformance.verdicts([own]).items()}
    assert {contract: said for contract, said in found.items() if said} == {}
    (cells,) = (row[2:] for row in ROWS[1:] if row[:2] == ["ordinate", name])
    assert cells == ["-" if said is None else "yes" for said in found.values()], (
        "python -m benchmarks.conformance --write"
    )
