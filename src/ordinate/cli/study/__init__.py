"""`ordinate study`: several comparisons that answer one question, from a TOML file; one file per command."""

import typer

from ordinate.cli.study import plan, probe, report, run, status

app = typer.Typer(
    help="Plan, run and report a study: comparisons that answer one question, with published figures beside them.",
    no_args_is_help=True,
)
app.command("plan")(plan.run)
app.command("run")(run.run)
app.command("status")(status.run)
app.command("probe")(probe.run)
app.command("report")(report.run)
