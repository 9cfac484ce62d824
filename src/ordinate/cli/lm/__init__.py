"""`ordinate lm`: language models, from text to scores; one file per command."""

import typer

from ordinate.cli.lm import eval as evaluation
from ordinate.cli.lm import export, generate, plan, prepare, sizes, train

app = typer.Typer(
    help="Train language models that differ only in their encoding: prepare text, plan, train, evaluate, export.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("sizes")(sizes.run)
app.command("prepare")(prepare.run)
app.command("plan")(plan.run)
app.command("train")(train.run)
app.command("eval")(evaluation.run)
app.command("generate")(generate.run)
app.command("export")(export.run)
