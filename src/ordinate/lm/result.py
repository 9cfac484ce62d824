"""What came out of a budget, which a folder tells when it is done."""

import os
from pathlib import Path
from typing import Any

from ordinate.core.errors import InputError
from ordinate.store.contents import Number, fits
from ordinate.store.files import read_json
from ordinate.store.run import readable
from ordinate.store.sums import check_sum

_RESULT: dict[str, Any] = dict(
    step=int, tokens=int, seconds=Number, parameters=int, valid_loss=Number, bits_per_byte=Number
)


def result_of(folder: Path) -> dict[str, Any] | None:
    """None if it is not done. A damaged one is named: what it said can be had again from the checkpoint beside it."""
    path = folder / "result.json"
    if not os.path.lexists(path):
        return None
    result = readable(read_json(path), path)
    try:
        fits("result", result, _RESULT)
        check_sum(result)
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): move it away") from error
    return result
