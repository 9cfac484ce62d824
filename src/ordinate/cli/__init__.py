"""The program `ordinate`: one file per command. Nothing here loads torch before a command needs it."""

import errno
import sys

import typer

from ordinate.cli import analyze as analyze_command
from ordinate.cli import app as app_command
from ordinate.cli import bench as bench_command
from ordinate.cli import compare as compare_command
from ordinate.cli import list as list_command
from ordinate.cli import lm as lm_commands
from ordinate.cli import report as report_command
from ordinate.cli import show as show_command
from ordinate.cli import status as status_command
from ordinate.cli import store as store_commands
from ordinate.cli import train as train_command
from ordinate.core.errors import InputError

# What a disk can do to a run that was right: full, over quota, read-only, forbidden, failing, too small, without locks,
# or gone.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.EFBIG, errno.ENOLCK, errno.ENOENT)

app = typer.Typer(
    name="ordinate",
    help="Finds out which positional encoding a transformer should use, and shows why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("compare")(compare_command.run)
app.command("report")(report_command.run)
app.command("analyze")(analyze_command.run)
app.command("list")(list_command.run)
app.command("show")(show_command.run)
app.command("train")(train_command.run)
app.command("status")(status_command.run)
app.add_typer(store_commands.app, name="store")
app.command("bench")(bench_command.run)
app.command("app")(app_command.run)
app.add_typer(lm_commands.app, name="lm")


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Finds out which positional encoding a transformer should use, and shows why."""
    if version:
        from ordinate import __version__

        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command. A user's mistake is one sentence on stderr and exit code 2, a full disk one and exit code 1."""
    try:
        app()
    except InputError as error:
        print(f"ordinate: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in _DISK:
            raise
        where = f" while writing {error.filename}" if error.filename else ""
        print(f"ordinate: {error.strerror}{where}; what is done is kept, start again to go on", file=sys.stderr)
        sys.exit(1)
