"""What a run's files must hold: all that anybody reads of them is there and of its kind, or they are damaged."""

from collections import Counter
from typing import Any

from ordinate.core.letters import plain
from ordinate.store.sums import SUMMED, check_sum

Number = int | float
LARGEST = 1e100  # of a number: nobody measures such a one, and its square is infinite
MOST_SEQUENCES = 10**7  # scored at one length
ALL = 1 + 1e-6  # the largest share, with what rounding may add to it

# By name, a type, or the words of which it must be one.
_CONFIG: dict[str, Any] = dict(task=str, model=dict, seed=int, lr=Number, steps=int, train_lengths=list)
_RESULT: dict[str, Any] = dict(
    run=str, status=("finished", "diverged"), steps=int, learned_at=int | None, parameters=int, encoding_parameters=int,
    task=str, metric=str, direction=("higher", "lower"), bar=Number | None, evaluation=list, norms=dict, records=list,
    memory=int | None, timing=dict,
)  # fmt: skip
_ROW: dict[str, Any] = dict(
    split=("valid", "id", "ood", "shift"), length=int, sequences=int, hash=str, score=Number | None,
    loss=Number | None, accuracy=Number | None, exact=Number | None, chance=Number, majority=Number,
    position_only=Number, bag_of_tokens=Number, floor=Number, seen=Number | None, groups=dict,
)  # fmt: skip
_SHARES = ("accuracy", "exact", "seen")  # of a row, between 0 and 1; these too, unless the task is scored by its loss:
_SCORES = ("score", "chance", "majority", "position_only", "bag_of_tokens", "floor")
_RECORD: dict[str, Any] = dict(step=int, split=str, metric=str, value=Number | None)


def check_config(config: Any) -> None:
    """Fails with what is missing, or of another kind than it was written; as do the others here."""
    fits("configuration", config, _CONFIG)
    encoding = config["model"].get("encoding")
    if not all(_is(name, str) for name in (encoding if isinstance(encoding, list) else [encoding])):
        raise ValueError(f"encoding in configuration is {_short(encoding)}")


def check_result(result: Any) -> None:
    """With at least what was scored in distribution."""
    fits("result", result, _RESULT)
    if (result["bar"] is None) != (result["metric"] == "loss"):
        raise ValueError(f"bar is {result['bar']} for the metric {_short(result['metric'])}")
    if min(result[name] for name in ("steps", "parameters", "encoding_parameters")) < 0:
        raise ValueError("its steps or parameters are less than none")
    for row in result["evaluation"]:
        _check_row(row, (*_SHARES, *_SCORES) if result["bar"] is not None else _SHARES)
    places = Counter((row["split"], row["length"]) for row in result["evaluation"])
    lacking = {"valid", "id"} - {split for split, _ in places}
    if lacking:
        raise ValueError(f"evaluation has no row of {min(lacking)}")
    (split, length), most = places.most_common(1)[0]
    if most > 1:
        raise ValueError(f"evaluation has {most} rows of {split} at {length}")
    for record in result["records"]:
        check_record(record)
    fits("norms", result["norms"], dict(embedding_norm=Number, encoding_norm=Number))
    fits("timing", result["timing"], dict(seconds=Number))
    if "files" in result:  # older results have no hashes
        fits("result", result, dict(files=dict, sum=str))
        fits("files", result["files"], dict.fromkeys(result["files"], str))
        if unknown := result["files"].keys() - set(SUMMED):
            raise ValueError(f"files tells of {_short(min(unknown))}")
        check_sum(result)


def _check_row(row: Any, shares: tuple[str, ...]) -> None:
    """The scores at one length."""
    fits("evaluation", row, _ROW)
    fits("groups", row["groups"], dict.fromkeys(row["groups"], Number | None))
    limits = dict(sequences=(1, MOST_SEQUENCES), length=(1, LARGEST)) | dict.fromkeys(shares, (0, ALL))
    for name, (least, most) in limits.items():
        if row[name] is not None and not least <= row[name] <= most:
            raise ValueError(f"{name} in evaluation is {_short(row[name])}")


def check_record(record: Any) -> None:
    """One line of a journal."""
    fits("record", record, _RECORD)


def fits(where: str, found: Any, kinds: dict[str, Any]) -> None:
    """Fails unless all of these are there, each of its kind: a type, or one of some words."""
    if not isinstance(found, dict):
        raise ValueError(f"{where} is {_short(found)}")
    for name, kind in kinds.items():
        if name not in found:
            raise ValueError(f"{where} has no {name}")
        if not plain(name):
            raise ValueError(f"{where} has a name that cannot be shown: {_short(name)}")
        value = found[name]
        if not (value in kind if isinstance(kind, tuple) else _is(value, kind)):
            raise ValueError(f"{name} in {where} is {_short(value)}")


def _is(value: Any, kind: Any) -> bool:
    if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, str) and not plain(value)):
        return False
    return not isinstance(value, int | float) or abs(value) < LARGEST  # which NaN is not


def _short(value: Any) -> str:
    """As it stands there, but not a page of it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
