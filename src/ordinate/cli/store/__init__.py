"""`ordinate store`: a folder of runs as a whole."""

import typer

from ordinate.cli.store import check, pack, unpack

app = typer.Typer(help="Check a folder of runs, or pack it into one file and unpack it.", no_args_is_help=True)
app.command("check")(check.run)
app.command("pack")(pack.run)
app.command("unpack")(unpack.run)
