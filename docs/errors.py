"""The table of errors in comparisons.md, from errors.json: `python docs/errors.py` writes it.

`python docs/errors.py 2000` first simulates so many studies of each shape (tests/statistics/simulate.py), in minutes.
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
RATES, PAGE = HERE / "errors.json", HERE / "comparisons.md"
HEAD = "| shape | studies |\n|---|---|\n"
TABLE = re.compile(rf"(?<={re.escape(HEAD)})(?:\|.*\n)+")


def rows(rates: dict[str, float]) -> str:
    return "".join(f"| {name} | {100 * rate:.1f} % |\n" for name, rate in rates.items())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.path.insert(0, str(HERE.parent))
        from tests.statistics.simulate import rates

        RATES.write_text(json.dumps(rates(int(sys.argv[1])), indent=1) + "\n")
    PAGE.write_text(TABLE.sub(lambda _: rows(json.loads(RATES.read_text())), PAGE.read_text()))
