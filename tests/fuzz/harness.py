"""One hostile case: made from its kind and number alone, run in a process with limits, and judged."""

import ctypes
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from random import Random
from tempfile import TemporaryDirectory

import ordinate
from ordinate.cli import main

from .documents import results, settings
from .lines import line
from .models import model
from .stores import archive, saved, store

Maker = Callable[[Random, Path], list[str]]
KINDS: dict[str, Maker] = {
    "line": line, "settings": settings, "results": results, "store": store, "checkpoint": saved, "archive": archive,
    "model": model,
}  # fmt: skip
# How often each comes up.
TURNS = (
    "line", "settings", "line", "checkpoint", "line", "results", "store", "model", "line", "store", "archive", "line",
)  # fmt: skip

SECONDS = 40  # of one core; a case that only waits is ended after three times as many of the clock
MEMORY = 2 * 2**30  # bytes beyond what a process holds that has loaded everything
ERRORS, LETTERS = 6, 4000  # lines and letters on standard error of a command that was refused


@dataclass(frozen=True)
class Case:
    """`line 17` is the same case on every machine."""

    kind: str
    number: int

    def make(self, folder: Path) -> list[str]:
        """Write the files of the case, and tell the arguments."""
        return KINDS[self.kind](Random(f"{self.kind} {self.number}"), folder)


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    arguments: list[str]
    code: int
    out: str
    err: str

    def problem(self) -> str:
        """What no input may bring about, or nothing."""
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        if "Traceback" in self.err:
            return self.err.strip().rpartition("\n")[2][:200]
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        complaint = self.err[max(0, self.err.find("ordinate: ")) :]  # what comes before it tells how far things were
        if self.code == 2 and (complaint.count("\n") > ERRORS or len(complaint) > LETTERS):
            return f"{complaint.count(chr(10))} lines and {len(complaint)} letters on standard error"
        if self.code and not self.err and not self.out:
            return f"exit code {self.code} without a word"
        return self._json()

    def _json(self) -> str:
        """`--json` is one document, and one that every reader takes."""
        if self.code or "--json" not in self.arguments or not self.out:
            return ""
        try:
            json.loads(self.out, parse_constant=_refuse)
        except ValueError as error:
            return f"--json is no JSON: {error}"
        return ""


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is none")


def load() -> None:
    """All that commands need, once: a process that loads it by itself takes twice as long."""
    for module in walk_packages(ordinate.__path__, "ordinate."):
        if not module.name.startswith(("ordinate.app", "ordinate.lm.harness")) and not module.name.endswith("__main__"):
            import_module(module.name)
    sys.argv = ["ordinate", "show", "rope"]
    with redirect_stdout(StringIO()), suppress(SystemExit):
        main()


def run(case: Case) -> Outcome:
    """In a process of its own, forked from this one."""
    with TemporaryDirectory(prefix="ordinate-case-") as name:
        folder = Path(name)
        (folder / "work").mkdir()
        arguments = case.make(folder / "work")
        process = os.fork()
        if not process:
            _child(folder, arguments)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        out, err = ((folder / stream).read_text(errors="replace") for stream in ("out", "err"))
    return Outcome(arguments, code, out, err)


def _child(folder: Path, arguments: list[str]) -> None:
    code: object = 70
    try:
        os.setsid()
        os.chdir(folder / "work")
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(folder / name, os.O_CREAT | os.O_WRONLY), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        version = (ctypes.c_uint32 * 2)(0x20080522, 0)
        ctypes.CDLL(None).capset(version, (ctypes.c_uint32 * 6)())  # what nobody may read, root may not either
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(3 * SECONDS)
        sys.argv = ["ordinate", *arguments]
        main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)  # unloading torch takes a second
