"""Whatever stands in a run's files, it is described, or named as damaged."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.cli.status import TOLD, _print
from ordinate.store import Run
from ordinate.store.contents import check_result
from ordinate.store.overview import describe
from ordinate.store.sums import content_sum

CONFIG = dict(task="k_back", model={"encoding": ["rope", "none"]}, seed=1, lr=0.1, steps=4, train_lengths=[3, 5])
ROW = dict(
    sequences=20, hash="x", score=1.0, loss=0.1, accuracy=1.0, exact=None, chance=0.5, majority=0.5, position_only=0.5,
    bag_of_tokens=0.5, floor=0.5, seen=0, groups={"accuracy_beyond": 1.0},
)  # fmt: skip
RESULT = dict(
    schema=1, run="run", status="finished", steps=4, learned_at=2, parameters=3, encoding_parameters=0, task="k_back",
    metric="accuracy", direction="higher", bar=0.95, norms=dict(embedding_norm=1.0, encoding_norm=0.0), memory=None,
    evaluation=[ROW | {"split": split, "length": at} for split, at in (("valid", 5), ("id", 5), ("ood", 7))],
    records=[dict(step=2, split="valid", metric="accuracy", value=0.9)], timing=dict(seconds=1.0),
)  # fmt: skip
WRONG = (
    None, True, -1, 0, 10**12, 10**400, 1e308, 1e999, -2.5, "", "word", [], {}, ["word"], {"a": 1}, "\x1b[31m", "\u202e"
)  # fmt: skip


def places(content: Any) -> list[tuple[Any, ...]]:
    """The paths to all parts of a document."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [()] + [(key, *rest) for key, value in inner for rest in places(value)]


def told(run: Run) -> None:
    row = describe(run)
    json.dumps(row)
    _print([{key: row[key] for key in TOLD if key in row}])


@pytest.mark.parametrize(("name", "whole"), [("config.json", CONFIG), ("result.json", RESULT)])
def test_any_value_anywhere_is_described_or_named(name: str, whole: dict[str, Any], tmp_path: Path) -> None:
    run, refused = Run(tmp_path / "run"), 0
    run.folder.mkdir()
    for document, content in (("config.json", CONFIG), ("result.json", RESULT)):
        (run.folder / document).write_text(json.dumps(content))
    told(run)
    for place in places(whole):
        for value in WRONG:
            content: Any = {"root": copy.deepcopy(whole)}
            at, last = content, "root"
            for key in place:
                at, last = at[last], key
            at[last] = value
            (run.folder / name).write_text(json.dumps(content["root"]))
            try:
                told(run)
            except InputError as error:
                assert str(run.folder / name) in str(error) and len(str(error)) < len(str(run.folder)) + 200
                refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["evaluation"][1].update(accuracy=1.5), "accuracy in evaluation is 1.5"),
        (lambda r: r["evaluation"][1].update(floor=-0.1), "floor in evaluation is -0.1"),
        (lambda r: r["evaluation"][1].update(length=0), "length in evaluation is 0"),
        (lambda r: r["evaluation"][2].update(split="id", length=5), "evaluation has 2 rows of id at 5"),
        (lambda r: r["evaluation"][1]["groups"].update({"\x1b[31m": 1.0}), r"a name that cannot be shown: '\\x1b"),
        (lambda r: r.update(task="\u202ex"), r"task in result is '\\u202ex'"),
        (lambda r: r.update(steps=-1), "steps or parameters are less than none"),
    ],
)
def test_numbers_are_those_of_a_result(change: Callable[[Any], object], words: str) -> None:
    result: Any = copy.deepcopy(RESULT)
    check_result(result)
    change(result)
    with pytest.raises(ValueError, match=words):
        check_result(result)


def test_a_result_has_a_sum_over_all_of_it() -> None:
    whole: Any = RESULT | {"files": {"metrics.jsonl": "0"}}
    whole["sum"] = content_sum(whole)
    check_result(json.loads(json.dumps(whole)))
    for change in (
        {"parameters": 4}, {"sum": "x"}, {"sum": None}, {"files": {}}, {"more": 1}, {"files": {"../other": "0"}},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"sum|files"):
            check_result(whole | change)
    inner = copy.deepcopy(whole)
    inner["evaluation"][2]["score"] = 0.9375  # one bit
    with pytest.raises(ValueError, match="its sum is another"):
        check_result(inner)
