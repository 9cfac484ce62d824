"""Numbers of tokens as people write them: 2.4B, 500M or 20k."""

import re
from decimal import Decimal

from ordinate.core.errors import InputError

UNITS = {"T": 10**12, "B": 10**9, "M": 10**6, "k": 10**3}
MOST = 10**15  # more than any corpus has


def parse_tokens(text: str) -> int:
    """`2.4B` as 2,400,000,000."""
    match = re.fullmatch(r"(\d{1,20}(?:_?\d)*(?:\.\d{1,12})?)([kKmMbBtT]?)", text.strip())
    if match is None:
        raise InputError(f"expected a number of tokens, as in 2.4B, 500M or 20k, got {text.strip()[:40]!r}")
    unit = next((size for name, size in UNITS.items() if name.lower() == match[2].lower()), 1)
    count = Decimal(match[1].replace("_", "")) * unit
    if count != int(count) or not 1 <= count <= MOST:
        raise InputError(f"a number of tokens is whole and from 1 to {write_tokens(MOST)}, got {text.strip()[:40]}")
    return int(count)


def write_tokens(count: int) -> str:
    """What `parse_tokens` reads back, as short as it can be without rounding."""
    for name, unit in UNITS.items():
        if count >= unit:
            return f"{(Decimal(count) / unit).normalize():f}{name}"
    return str(count)
