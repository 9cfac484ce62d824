"""`ordinate lm`: language models, from text to scores; one file per command."""

import typer

from ordinate.cli.lm import prepare as prepare_command

app = typer.Typer(
    help="Language models with any encoding: prepare text, train, evaluate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("prepare")(prepare_command.run)


@app.callback()
def options() -> None:
    """Language models with any encoding: prepare text, train, evaluate."""
