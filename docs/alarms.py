"""The table of alarms in comparisons.md: `python docs/alarms.py` writes it from the alarms' classes."""

import re
from pathlib import Path

from ordinate.statistics.alarms import Alarm

PAGE = Path(__file__).parent / "comparisons.md"
HEAD = "| alarm | meaning |\n|---|---|\n"
TABLE = re.compile(rf"(?<={re.escape(HEAD)})(?:\|.*\n)+")


def rows() -> dict[str, str]:
    """By kind, a row of the table: what the docstring of its class says."""
    return {alarm.kind: f"| {alarm.kind} | {' '.join((alarm.__doc__ or '').split())} |\n" for alarm in Alarm.every}


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: "".join(rows().values()), PAGE.read_text()))
