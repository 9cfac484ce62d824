"""`ordinate lm sizes`: the sizes of language models."""

import json
from typing import Any

from typer import Option

from ordinate.cli.console import console, table
from ordinate.cli.options import AsJson


def run(
    encoding: str = Option("none", "--encoding", "-e", help="Also count the parameters of this encoding."),
    as_json: AsJson = False,
) -> None:
    """List the sizes with their parameters, shapes and budgets."""
    from ordinate.lm.sizes import SIZES, parameters
    from ordinate.lm.token_counts import write_tokens
    from ordinate.model import preset

    rows: list[dict[str, Any]] = []
    for name, defaults in SIZES.items():
        config = preset(name, encoding=encoding)
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
    shapes = table(
        "size", "parameters", f"{encoding} adds", "width", "layers", "heads", "vocabulary", "length", "batch", "rate",
        "budgets",
        left=("size", "budgets"),
    )  # fmt: skip
    for row in rows:
        numbers = [f"{row[k]:,}" for k in ("parameters", "encoding_parameters", "width", "layers", "heads")]
        more = [f"{row[k]:,}" for k in ("vocabulary", "length", "batch")] + [f"{row['lr']:g}"]
        shapes.add_row(row["size"], *numbers, *more, ", ".join(map(write_tokens, row["budgets"])))
    console(120).print(shapes)
