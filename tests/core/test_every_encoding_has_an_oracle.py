"""Every built-in encoding is compared with another implementation, or satisfies an identity."""

import re
from pathlib import Path

import pytest

from ordinate import encodings

TESTS = Path(__file__).parents[1]
BUILT_IN = [name for name in encodings.names() if encodings.registry.source(name) is None]  # plug-ins are exempt


def evidence(name: str, tests: Path = TESTS) -> list[str]:
    """The oracle tests and the identities that create this encoding."""
    files = [*sorted((tests / "oracle").glob("test_*.py")), tests / "core" / "test_identities.py"]
    created = re.compile(rf"""["']{name}["'(]""")
    return [file.name for file in files if file.name == f"test_{name}.py" or created.search(file.read_text())]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_encoding_has_an_oracle_or_an_identity(name: str) -> None:
    assert evidence(name), (
        f"{name} has neither an oracle nor an identity: compare it with another implementation in"
        f" tests/oracle/test_{name}.py, or add an identity that it satisfies to tests/core/test_identities.py"
    )


def test_an_encoding_without_either_is_found() -> None:
    assert evidence("unheard" + "_of") == []
