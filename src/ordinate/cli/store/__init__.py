"""`ordinate store`: a folder of runs as a whole."""

import typer

from ordinate.cli.store import check as check_command
from ordinate.cli.store import pack as pack_command
from ordinate.cli.store import unpack as unpack_command

app = typer.Typer(help="Check a folder of runs, or hand it on as one file.", no_args_is_help=True)
app.command("check")(check_command.run)
app.command("pack")(pack_command.run)
app.command("unpack")(unpack_command.run)
