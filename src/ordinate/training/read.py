"""A result as it was read from disk: all that a report needs is there and of its kind, or it is damaged."""

from typing import Any

Number = int | float
_RUN: dict[str, Any] = dict(
    steps=int, learnt_at=int | None, parameters=int, encoding_parameters=int, task=str, metric=str, direction=str,
    bar=Number | None, evaluation=list, norms=dict, records=list, timing=dict,
)  # fmt: skip
_ROW: dict[str, Any] = dict(
    split=str, length=int, sequences=int, hash=str, score=Number | None, loss=Number | None, accuracy=Number | None,
    chance=Number, floor=Number, seen=Number | None, groups=dict,
)  # fmt: skip
_RECORD: dict[str, Any] = dict(step=int, split=str, metric=str, value=Number | None)


def check(result: dict[str, Any]) -> None:
    """Fails with what is missing, or of another kind than it was written."""
    _fits("result", result, _RUN)
    if (result["bar"] is None) != (result["metric"] == "loss"):
        raise TypeError(f"bar is {result['bar']!r} for the metric {result['metric']}")
    for row in result["evaluation"]:
        _fits("evaluation", row, _ROW)
    for record in result["records"]:
        _fits("records", record, _RECORD)
    _fits("norms", result["norms"], dict(embedding_norm=Number, encoding_norm=Number))
    _fits("timing", result["timing"], dict(seconds=Number))


def _fits(where: str, found: Any, kinds: dict[str, Any]) -> None:
    for name, kind in kinds.items():
        value = found[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"{name} in {where} is {value!r}")
