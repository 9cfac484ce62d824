"""Standard output and error, whatever a shell made of them."""

import os
import re
import sys
from io import TextIOWrapper

# `COLUMNS=0`, which some terminals and schedulers set, would be taken at its word: nothing fits into no columns.
_COLUMNS = re.compile("[1-9][0-9]{0,4}")


def prepare() -> None:
    """Let every letter be printed, somewhere, and a width be one."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # closed by the caller: no file may take its place
        os.set_inheritable(number, True)
    os.close(number)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # letters that the terminal's alphabet lacks
            stream.reconfigure(errors="backslashreplace")
    if not _COLUMNS.fullmatch(os.environ.get("COLUMNS", "80")):
        del os.environ["COLUMNS"]
