"""`ordinate lm`: language models, from text to scores; one file per command."""

import typer

from ordinate.cli.lm import compare, export, generate, plan, prepare, sizes, train
from ordinate.cli.lm import eval as evaluation

app = typer.Typer(
    help="Train language models that differ only in their encoding: prepare text, train, evaluate, compare, export.",
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
app.command("compare")(compare.run)
app.command("generate")(generate.run)
app.command("export")(export.run)
