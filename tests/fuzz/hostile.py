"""Values that somebody types by mistake, or on purpose."""

import os
from pathlib import Path
from random import Random

NUMBERS = (
    "0", "1", "2", "3", "7", "64", "-1", "-5", "0.5", "1.5", "-0.0", "1e-3", "1e3", "1_000", "1e9", "1e12", "1e30",
    "1e308", "1e400", "-1e400", "nan", "inf", "-inf", "100000", "1000000", "20000000", "1000000000", "1000000000000",
    str(2**31 - 1), str(2**31), str(2**63 - 1), str(2**63), str(-(2**63) - 1), "9" * 400, "-" + "9" * 400, "9" * 5000,
)  # fmt: skip
WORDS = (
    "", " ", "true", "none", "x", "é", "💥", "\u202ex", "\x1b[31mred", "\udcff", "a" * 30_000, "'", '"', "(", ")", "()",
    "[", "]", "[]", "[1,2]", "[3,1]", "[4,8]", "[1,2,3]", "[[1]]", "[" * 3000 + "]" * 3000, "(" * 3000,
    "[/bold]", "[red]", "%s", "{0}", "..", "../..", "-", "--", "--json", "=", "a=b", ",", "rope", "k_back", "\n", "\t",
    "\uff11", "0x10", "1,2", "." * 5000, "a." * 3000, "+", "+" * 2000, "null",
)  # fmt: skip
PATHS = (
    "nowhere", "runs", ".", "..", "-", "", "/dev/null", "/proc/self/status", "/proc/nowhere/runs", "file",
    "file/inside", "loop", "loop/inside", "pipe", "a" * 300, "a/" * 3000, "\udcff", "é💥", "with space", "[/bold]",
    "~", "empty",
)  # fmt: skip


def number(draw: Random) -> str:
    return draw.choice(NUMBERS)


def value(draw: Random) -> str:
    """A number more often than not."""
    return number(draw) if draw.random() < 0.6 else draw.choice(WORDS)


def path(draw: Random) -> str:
    return draw.choice(PATHS)


def lay_out(folder: Path) -> None:
    """What some of the paths name."""
    (folder / "file").write_text("all: of it\n")
    (folder / "empty").mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
