"""Whatever a run's files hold is described, or named as damaged."""

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.cli.status import _print
from ordinate.results.run_result import RunResult
from ordinate.results.serialize import read, write
from ordinate.store import Run
from ordinate.store.documents import content_sum, read_document, write_document
from ordinate.store.run_table import summarize

CONFIG = dict(task="k_back", model={"encoding": ["rope", "none"]}, seed=1, lr=0.1, steps=4, train_lengths=[3, 5])
ROW = dict(
    sequences=20, hash="x", score=1.0, loss=0.1, accuracy=1.0, exact=None, chance=0.5, majority=0.5, position_only=0.5,
    bag_of_tokens=0.5, floor=0.5, seen=0, groups={"accuracy_beyond": 1.0}, loss_error=0.01, gap_loss=None,
    gap_accuracy=None,
)  # fmt: skip
RESULT = dict(
    run="run", status="finished", steps=4, learned_at=2, parameters=3, encoding_parameters=0, task="k_back",
    metric="accuracy", direction="higher", bar=0.95, norms=dict(embedding_norm=1.0, encoding_norm=0.0), memory=None,
    evaluation=[ROW | {"split": split, "length": at} for split, at in (("valid", 5), ("id", 5), ("ood", 7))],
    records=[dict(run="run", step=2, split="valid", length=5, metric="accuracy", value=0.9)], seconds=1.0,
    files={"metrics.jsonl": "0"},
)  # fmt: skip
WRONG = (
    None, True, -1, 0, 10**12, 10**400, 1e308, 1e999, -2.5, "", "word", [], {}, ["word"], {"a": 1}, "\x1b[31m", "\u202e"
)  # fmt: skip


def places(content: Any) -> list[tuple[Any, ...]]:
    """The paths to all parts of a document."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [()] + [(key, *rest) for key, value in inner for rest in places(value)]


def show(run: Run) -> None:
    row = summarize(run)
    json.dumps(write(row))
    _print([row])


def summed(content: Any) -> Any:
    """With the sum that belongs to it, where a document has one."""
    if not isinstance(content, dict) or "sum" not in content:
        return content
    with suppress(ValueError):  # infinity has none
        rest = {key: value for key, value in content.items() if key != "sum"}
        return rest | {"sum": content_sum(rest)}
    return content


@pytest.mark.parametrize("name", ["config.json", "result.json"])
def test_any_value_anywhere_is_described_or_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ordinate.store.run.digest", lambda config: "run")  # whatever it holds is the run's own
    run, refused = Run(tmp_path / "run"), 0
    run.folder.mkdir()
    (run.folder / "config.json").write_text(json.dumps(CONFIG))
    write_document(run.folder / "result.json", RESULT)
    whole = json.loads((run.folder / name).read_text())
    show(run)
    for place in places(whole):
        for value in WRONG:
            content: Any = {"root": copy.deepcopy(whole)}
            at, last = content, "root"
            for key in place:
                at, last = at[last], key
            at[last] = value
            (run.folder / name).write_text(json.dumps(summed(content["root"])))
            try:
                show(run)
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
        (lambda r: r["evaluation"][1]["groups"].update({"\x1b[31m": 1.0}), r"a name in groups is '\\x1b"),
        (lambda r: r.update(task="\u202ex"), r"task in result is '\\u202ex'"),
        (lambda r: r.update(steps=-1), "steps in result is -1"),
    ],
)
def test_numbers_are_those_of_a_result(change: Callable[[Any], object], words: str) -> None:
    result: Any = copy.deepcopy(RESULT)
    read(RunResult, result, "result")
    change(result)
    with pytest.raises(ValueError, match=words):
        read(RunResult, result, "result")


def test_a_result_has_a_sum_over_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_document(path, RESULT)
    read_document(RunResult, path, "result")
    whole = json.loads(path.read_text())
    inner = copy.deepcopy(whole)
    inner["evaluation"][2]["score"] = 0.9375  # one bit
    for change in (
        {"parameters": 4}, {"sum": "x"}, {"sum": None}, {"files": {}}, {"more": 1}, {"files": {"../other": "0"}},
        {"evaluation": inner["evaluation"]},
    ):  # fmt: skip
        path.write_text(json.dumps(whole | change))
        with pytest.raises(InputError, match=r"damaged \((its sum is another|a name in files|.* unknown key 'more')"):
            read_document(RunResult, path, "result")
    del whole["sum"]
    path.write_text(json.dumps(whole))
    with pytest.raises(InputError, match=r"is damaged \(it has no sum\): move it away"):
        read_document(RunResult, path, "result")


def test_what_is_written_is_what_is_read() -> None:
    result = read(RunResult, RESULT, "result")
    assert write(result) == RESULT and read(RunResult, write(result), "result") == result
    assert result.row("id", 5) == result.in_distribution and result.headline.key == ("ood", 7)
    assert list(result.words.values()) == ["solves"] * 3 and result.valid.split == "valid"
    with pytest.raises(KeyError):
        result.row("ood", 5)
