"""`ordinate store`: a folder of runs as a whole."""

import typer

from ordinate.cli.store import check, delete, pack, rename, restore, unpack

app = typer.Typer(
    help="Check a folder of runs, pack and unpack it, rename and delete what is in it.", no_args_is_help=True
)
app.command("check")(check.run)
app.command("pack")(pack.run)
app.command("unpack")(unpack.run)
app.command("rename")(rename.run)
app.command("delete")(delete.run)
app.command("restore")(restore.run)
