"""Parameters that no tensor has a place for, and numbers written in another type."""

from dataclasses import dataclass

import pytest

from ordinate import InputError, encodings
from ordinate.core.config import build

HUGE = "must be at most 2147483647, got 1e\\+30"


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("abacus", dict(rows=1e30), f"abacus parameter rows {HUGE}"),
        ("abacus", dict(rows=10**400), "rows must be at most 2147483647, got inf"),
        ("abacus", dict(digits=[0, 10**12]), "digits must be at most 2147483647, got 1e\\+12"),
        ("abacus", dict(size=1e308), "size must be at most 3.402823466e\\+38, got 1e\\+308"),
        ("abacus", dict(size=10**400), "size must be at least 0 and finite, got inf"),
        ("fox", dict(start=-1e300), "start must be at least -3.402823466e\\+38, got -1e\\+300"),
        ("rope", dict(base=float("nan")), "base must be at least 1.01 and finite, got nan"),
        ("cope", dict(positions=1e30), "positions must be at least 2 and at most 32767"),
        ("conditional", dict(window=10**6), "window must be at least 2 and at most 255, got 1000000"),
        ("cpb", dict(depth=10**4), "depth must be at least 1 and at most 64"),
        (
            "abacus",
            dict(rows=2**31 - 1, dim=2**20),
            "abacus with these parameters would take at least 9,007,199 GB of memory, but",
        ),
        ("abacus", dict(dim=2**31), "dim must be a whole number of at least 1 and at most 2147483647"),
    ],
)
def test_numbers_that_no_tensor_holds(name: str, given: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        encodings.create(name, **({"dim": 16, "heads": 2, "length": 16} | given))


def test_large_seeds_are_no_sizes() -> None:
    """Bounds are those of encodings and tasks, not of every setting."""

    @dataclass(frozen=True)
    class Drawn:
        seed: int = 0

    assert build(Drawn, dict(seed=2**40)).seed == 2**40


def test_a_choice_comes_in_its_own_type() -> None:
    grid = dict(dim=16, heads=4, length=16, axes=2)
    assert encodings.create("lookhere", **grid, view=90.0).sides == encodings.create("lookhere", **grid, view=90).sides
