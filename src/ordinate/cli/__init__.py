"""The program `ordinate`: one file per command. No command imports numpy or torch before it runs."""

import errno
import os
import re
import sys
import warnings
from io import TextIOWrapper
from typing import NoReturn

import typer
from typer import Option

from ordinate.cli import analyze, bench, compare, lm, probe, report, show, status, store, study, train
from ordinate.cli import app as app_command
from ordinate.cli import list as list_command
from ordinate.core.errors import InputError, PluginWarning, brief

# A path that no file can have is a user's mistake; other errors of the system may be temporary.
_BAD_PATHS = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)
MOST_CHARACTERS = 3000  # of one argument; longer input belongs in a file
# Some terminals and schedulers set COLUMNS=0, which rich would obey.
_COLUMNS = re.compile("[1-9][0-9]{0,4}")

app = typer.Typer(
    name="ordinate",
    help="Find out which positional encoding a transformer should use, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("compare")(compare.run)
app.add_typer(study.app, name="study")
app.command("report")(report.run)
app.command("analyze")(analyze.run)
app.command("list")(list_command.run)
app.command("show")(show.run)
app.command("probe")(probe.run)
app.command("train")(train.run)
app.command("status")(status.run)
app.add_typer(store.app, name="store")
app.command("bench")(bench.run)
app.command("app")(app_command.run)
app.add_typer(lm.app, name="lm")


@app.callback(invoke_without_command=True)
def options(version: bool = Option(False, "--version", help="Print the version.")) -> None:
    """Find out which positional encoding a transformer should use, and why."""
    if version:
        from ordinate import __version__

        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command. A user's mistake is one sentence on stderr and exit code 2; a full disk, exit code 1."""
    _prepare_streams()
    _write_warnings_as_sentences()
    try:
        _run()
    except InputError as error:
        _end(str(error), 1 if _disk_is_full(error) else 2)
    except RecursionError:
        _end("something that was given is nested too deeply to be read", 2)
    except (MemoryError, RuntimeError) as error:  # torch raises RuntimeError on a CPU
        if isinstance(error, RuntimeError) and not re.search("(allocate|out of) memory", str(error)):
            raise
        _end("there is too little memory for this: choose smaller sizes", 1)
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        if error.errno in _BAD_PATHS:
            _end(f"{error.strerror}{where}: choose another name", 2)
        again = "when it is allowed" if isinstance(error, PermissionError) else "to go on"
        _end(f"{error.strerror or error}{where}; what is done is kept, start again {again}", 1)


def _disk_is_full(error: BaseException | None) -> bool:
    """Whether this is what the system said first: then the request itself may be right."""
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return error is not None and (getattr(error, "errno", None) in full or _disk_is_full(error.__cause__))


def _prepare_streams() -> None:
    """Open closed streams, escape characters that the terminal cannot print, and drop an unusable width."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # closed by the caller: no other file may get these numbers
        os.set_inheritable(number, True)
    os.close(number)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # characters outside the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    if not _COLUMNS.fullmatch(os.environ.get("COLUMNS", "80")):
        del os.environ["COLUMNS"]


def _write_warnings_as_sentences() -> None:
    """A warning about a plug-in is for users, who need no line of code."""
    default = warnings.formatwarning

    def written(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if issubclass(category, PluginWarning):
            return f"ordinate: {brief(str(message))}\n"
        return default(message, category, filename, lineno, line)

    warnings.formatwarning = written


def _run() -> None:
    for word in sys.argv[1:]:
        if len(word) > MOST_CHARACTERS:
            raise InputError(f"{word} has {len(word):,} letters, and an argument has at most {MOST_CHARACTERS:,}")
    try:
        app()
    finally:
        sys.stdout.flush()  # here, where a failure is reported


def _end(sentence: str, code: int) -> NoReturn:
    print(f"ordinate: {brief(sentence)}", file=sys.stderr)
    sys.exit(code)
