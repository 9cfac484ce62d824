"""The program `ordinate`: one file per command. Nothing here loads torch before a command needs it."""

import sys

import typer

from ordinate.cli import list as list_command
from ordinate.cli import show as show_command
from ordinate.core.errors import InputError

app = typer.Typer(
    name="ordinate",
    help="Finds out which positional encoding a transformer should use, and shows why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("list")(list_command.run)
app.command("show")(show_command.run)


def version(asked: bool) -> None:
    if asked:
        from ordinate import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=version, is_eager=True, help="Print the version."),
) -> None:
    """Finds out which positional encoding a transformer should use, and shows why."""


def main() -> None:
    """Run a command. A user's mistake is one sentence on stderr and exit code 2."""
    try:
        app()
    except InputError as error:
        print(f"ordinate: {error}", file=sys.stderr)
        sys.exit(2)
