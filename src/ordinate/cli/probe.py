"""`ordinate probe`: what an encoding does, and what a trained run does with it."""

import json

from typer import Argument

from ordinate.cli.console import console
from ordinate.cli.options import RUNS, AsJson, StoreFolder
from ordinate.core.errors import InputError, nearest


def run(
    what: str = Argument(metavar="ENCODING|RUN", help="An encoding, as in rope or 'rope(base=500000)'; or a run's id."),
    parameters: list[str] = Argument(None, metavar="[KEY=VALUE ...]", help="Parameters of the encoding."),
    store: StoreFolder = RUNS,
    as_json: AsJson = False,
) -> None:
    """Say what an encoding does, or what a trained run does with it: heads, position by layer, interventions."""
    from ordinate import encodings

    name = what.partition("(")[0].strip()
    if name in encodings.names():
        _encoding(what, parameters or [], as_json)
    else:
        raise InputError(f"unknown encoding {what!r}: {nearest(what, encodings.names())}")


def _encoding(what: str, parameters: list[str], as_json: bool) -> None:
    from ordinate.core.parsing import parse_pairs, write_value
    from ordinate.probes.encoding_probe import probe_encoding
    from ordinate.report.encoding_probe_words import encoding_lines
    from ordinate.results.serialize import write

    if parameters:
        if "(" in what:
            raise InputError(f"parameters were given twice, in {what!r} and after it: write them in one place")
        pairs = ",".join(f"{key}={write_value(value)}" for key, value in parse_pairs(parameters).items())
        what = f"{what}({pairs})"
    probe = probe_encoding(what)
    if as_json:
        print(json.dumps(write(probe), indent=1))
        return
    _print(
        f"{what}: {probe.dim} channels, trained length {probe.length}, measured at {probe.reach} positions",
        encoding_lines(probe),
    )


def _print(title: str, lines: list[tuple[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console(120)
    out.print(Text(title, "bold"))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for topic, sentence in lines:
        table.add_row(topic, Text(sentence))
    out.print(table)
