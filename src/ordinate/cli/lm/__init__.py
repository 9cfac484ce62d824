"""`ordinate lm`: language models, from text to scores; one file per command."""

import typer

from ordinate.cli.lm import plan as plan_command
from ordinate.cli.lm import prepare as prepare_command
from ordinate.cli.lm import sizes as sizes_command
from ordinate.cli.lm import train as train_command

app = typer.Typer(
    help="Language models that differ in their encoding alone: prepare text, plan, train.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("sizes")(sizes_command.run)
app.command("prepare")(prepare_command.run)
app.command("plan")(plan_command.run)
app.command("train")(train_command.run)
