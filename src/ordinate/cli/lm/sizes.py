"""`ordinate lm sizes`: the models there are."""

import json
import sys
from typing import Any

import typer

from ordinate.cli.options import AsJson


def run(
    encoding: str = typer.Option("none", "--encoding", "-e", help="The encoding whose own parameters are counted."),
    as_json: AsJson = False,
) -> None:
    """List the sizes with their parameters, shapes and budgets."""
    from ordinate.lm.sizes import SIZES, parameters, shape
    from ordinate.lm.token_counts import write_tokens

    rows: list[dict[str, Any]] = []
    for name, defaults in SIZES.items():
        config = shape(name, encoding)
        network, own = parameters(config)
        rows.append(
            {
                "size": name, "parameters": network, "encoding_parameters": own, "width": config.dim,
                "layers": config.layers, "heads": config.heads, "vocabulary": config.vocabulary,
                "length": config.length, "batch": defaults.batch, "lr": defaults.lr, "warmup": defaults.warmup,
                "budgets": list(defaults.budgets),
            }
        )  # fmt: skip
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    heads = ("size", "parameters", encoding, "width", "layers", "heads", "vocabulary", "length", "batch", "rate")
    for column in (*heads, "budgets"):
        table.add_column(
            column.replace("[", "\\["), justify="left" if column in ("size", "budgets") else "right", no_wrap=True
        )
    for row in rows:
        numbers = [f"{row[k]:,}" for k in ("parameters", "encoding_parameters", "width", "layers", "heads")]
        more = [f"{row[k]:,}" for k in ("vocabulary", "length", "batch")] + [f"{row['lr']:g}"]
        table.add_row(row["size"], *numbers, *more, ", ".join(map(write_tokens, row["budgets"])))
    Console(highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
