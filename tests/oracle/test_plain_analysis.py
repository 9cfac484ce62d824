"""Both ways of computing cells, one score at a time and by columns, say the same of random results."""

import math
import random
from dataclasses import asdict
from typing import Any

import pytest

from ordinate.statistics import analyze as analyze_module
from ordinate.statistics.analyze import analyze
from ordinate.statistics.large.columns import Observations
from ordinate.statistics.observations import Observation, RangeKey

PLACES: tuple[RangeKey, ...] = (
    ("valid", 8), ("id", 4), ("id", 8), ("ood", 12), ("ood", 16), ("ood", 32), ("shift", 8),
)  # fmt: skip


def results(salt: int) -> list[Observation]:
    """Rows with all that can happen: rows and scores that are missing, runs that diverge, ties, losses, no n."""
    source, rows = random.Random(salt), list[Observation]()
    seeds = source.choice([1, 2, 6, 7, 12, 24, 31])
    for task in range(source.randint(1, 3)):
        loss, known, gate = source.random() < 0.2, source.random() < 0.7, source.random() < 0.8
        levels = {f"e{index}": source.choice([0.1, 0.5, 0.9, 0.97, 1.0]) for index in range(source.randint(1, 5))}
        for encoding, level in levels.items():
            for seed in range(source.choice([seeds, seeds, source.randint(1, seeds)])):
                for split, length in PLACES:
                    if source.random() < 0.04 or (split == "id" and not gate):
                        continue
                    level = max(0.0, min(1.0, level + source.choice([0, 0, 0.01, -0.02, -0.3 * (split == "ood")])))
                    kind = source.random()
                    score = None if kind < 0.03 else round(level, source.choice([1, 3]))
                    rows.append(
                        Observation(
                            f"t{task}",
                            encoding,
                            seed,
                            split,
                            length,
                            None if kind > 0.98 else score,
                            0.1,
                            0.1 + 0.01 * (length % 8),
                            100 if known else None,
                            None if loss else 0.9,
                            "lower" if loss else "higher",
                            kind > 0.98,
                            "family",
                            source.choice("ab") if loss else "",
                            0.02 if source.random() < 0.1 else None,
                        )
                    )
    source.shuffle(rows)
    return rows


def differences(found: Any, expected: Any, where: str = "") -> list[str]:
    """Where two pieces of data differ by more than rounding."""
    if isinstance(found, float) and isinstance(expected, float):
        return [] if math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12) else [f"{where}: {found}, {expected}"]
    if isinstance(found, dict) and isinstance(expected, dict) and list(found) == list(expected):
        return [line for key in found for line in differences(found[key], expected[key], f"{where}.{key}")]
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return [line for index, (one, two) in pairs for line in differences(one, two, f"{where}[{index}]")]
    return [] if found == expected else [f"{where}: {found}, {expected}"]


@pytest.mark.parametrize("salt", [*range(8), *(pytest.param(salt, marks=pytest.mark.sampled) for salt in range(8, 48))])
def test_small_and_large_comparisons_are_analyzed_alike(salt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same rows, and from the same columns."""
    rows = results(salt)
    planned = {"t0": ["e1", "extra"]} if salt % 5 == 0 else {}
    found = []
    for large in (0, 10**9):
        monkeypatch.setattr(analyze_module, "LARGE", large)
        found.append(analyze(rows, planned=planned))
        assert found[-1] == analyze(Observations.of(rows), planned=planned)
    one, two = (asdict(analysis) for analysis in found)
    assert differences(one, two) == [] and one["tasks"]
