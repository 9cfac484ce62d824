"""`ordinate probe`: what an encoding does, and what a trained run or language model does with it."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from ordinate.cli.console import console, say
from ordinate.cli.lm.request import Data
from ordinate.cli.options import RUNS, AsJson, StoreFolder
from ordinate.core.errors import InputError, nearest

if TYPE_CHECKING:
    from ordinate.report.probe_report import ProbeReport

RUN_FILE = "run.json"  # in the folder of a language model


def run(
    what: str | None = Argument(
        None,
        metavar="ENCODING|RUN|CHECKPOINT",
        help="An encoding, as in rope or 'rope(base=500000)'; the id of a run; or a language model's folder.",
    ),
    parameters: list[str] = Argument(None, metavar="[KEY=VALUE ...]", help="Parameters of the encoding."),
    store: StoreFolder = RUNS,
    head: str | None = Option(None, "--head", metavar="LAYER.HEAD", help="All numbers of one head of the model."),
    sequences: int | None = Option(
        None, "--sequences", help="Sequences to probe with (default: 128, fewer long ones; --hf: 32)."
    ),
    folder: Path | None = Option(None, "--hf", metavar="DIR", help="Probe a causal model of transformers in a folder."),
    text: Path | None = Option(None, "--text", metavar="FILE", help="--hf: text to read (default: random tokens)."),
    length: int | None = Option(
        None,
        "--length",
        help="Tokens of a sequence of a language model (default: the trained length, up to 256; --hf: 64).",
    ),
    data: Data = None,
    output: Path | None = Option(None, "--output", "-o", help="File to write: .html, .json, .png or .pdf."),
    as_json: AsJson = False,
) -> None:
    """Say what an encoding does, or what a trained run or model does: heads, position by layer, interventions.

    A language model is probed on the validation text that it was trained beside; interventions cost nats per token.
    """
    from ordinate.report.probe_report import known_format

    if output is not None:
        known_format(output)
    if folder is not None:
        if what is not None or head is not None:
            raise InputError(f"--hf probes one model alone: leave out {what or '--head'}")
        if data is not None:
            raise InputError("--data is the text of a language model of `ordinate lm`: --hf reads --text FILE")
        _transformers(folder, text, sequences, length, output, as_json)
        return
    if text is not None:
        raise InputError("--text belongs to --hf: leave it out")
    if what is None:
        raise InputError("probe needs an encoding, a run's id, a checkpoint folder, or --hf with the folder of a model")
    if _is_checkpoint(what):
        if parameters:
            raise InputError(f"a language model has its settings already: leave {parameters[0]!r} out")
        _language_model(Path(what), data, length, head, sequences, output, as_json)
        return
    if length is not None or data is not None:
        option = "--length" if length is not None else "--data"
        raise InputError(f"{option} belongs to a language model, and {what} names none: leave it out")
    _named(what, parameters or [], store, head, sequences, output, as_json)


def _is_checkpoint(what: str) -> bool:
    """Whether this is the path of a language model: an encoding or a run has no slash in its name."""
    return "(" not in what and ("/" in what or what.endswith(".pt") or (Path(what) / RUN_FILE).exists())


def _named(
    what: str, parameters: Sequence[str], store: Path, head: str | None, sequences: int | None, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """An encoding by its name, or a run by the first digits of its id."""
    from ordinate import encodings

    name = what.partition("(")[0].partition("+")[0].strip()
    if name in encodings.names():
        if head is not None or sequences is not None:
            option = "--head" if head is not None else "--sequences"
            raise InputError(f"{option} belongs to a run, and {name} is an encoding: leave it out")
        _encoding(what, parameters, output, as_json)
    elif re.fullmatch("[0-9a-f]{1,12}", what):
        if parameters:
            raise InputError(f"a run has its settings already: leave {parameters[0]!r} out")
        _run(what, store, head, sequences, output, as_json)
    else:
        raise InputError(f"{what!r} is no encoding, no run's id and no folder: {nearest(name, encodings.names())}")


def _encoding(what: str, parameters: Sequence[str], output: Path | None, as_json: bool) -> None:
    from ordinate.core.parsing import parse_pairs, write_value
    from ordinate.probes.encoding_probe import probe_encoding
    from ordinate.report.probe_report import encoding_report

    if parameters:
        if "(" in what:
            raise InputError(f"parameters were given twice, in {what!r} and after it: write them in one place")
        pairs = ",".join(f"{key}={write_value(value)}" for key, value in parse_pairs(list(parameters)).items())
        what = f"{what}({pairs})"
    probe = probe_encoding(what)
    _give(probe, encoding_report(probe), output, as_json)


def _run(start: str, store: Path, head: str | None, sequences: int | None, output: Path | None, as_json: bool) -> None:
    from ordinate.probes.records import whole_probe
    from ordinate.probes.run_probe import probe_run
    from ordinate.report.probe_report import run_report
    from ordinate.store import open_store

    runs = open_store(store)
    runs.check_place()
    stored = runs.find(start)
    usual = head is None and sequences is None
    probe = whole_probe(stored) if usual else probe_run(stored, sequences, _head(head))
    _give(probe, run_report(probe, stored.folder), output, as_json)


def _language_model(
    path: Path, data: Path | None, length: int | None, head: str | None, sequences: int | None, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    from ordinate.lm.probed_model import open_subject, probe_language_model
    from ordinate.report.probe_report import language_model_report

    only = _head(head)
    subject = open_subject(path, data, length)
    probe = probe_language_model(subject, sequences, only)
    _give(probe, language_model_report(probe, subject), output, as_json)


def _transformers(
    folder: Path, text: Path | None, sequences: int | None, length: int | None, output: Path | None, as_json: bool
) -> None:
    from ordinate.probes.transformers_probe import LENGTH, SEQUENCES, open_transformers, probe_transformers
    from ordinate.report.probe_report import transformers_report

    count = SEQUENCES if sequences is None else sequences
    subject = open_transformers(folder, text, count, LENGTH if length is None else length)
    probe = probe_transformers(subject)
    _give(probe, transformers_report(probe, subject), output, as_json)


def _head(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    if not (found := re.fullmatch(r"(\d{1,4})\.(\d{1,4})", text)):
        raise InputError(f"--head takes a layer and a head, as in 1.2, got {text!r}")
    return int(found[1]), int(found[2])


def _give(probe: object, report: "ProbeReport", output: Path | None, as_json: bool) -> None:
    """To a file, as JSON, or to the terminal."""
    from ordinate.report.probe_report import write_report
    from ordinate.results.serialize import write

    content = json.dumps(write(probe), indent=1)
    if output is not None:
        say(*map(str, write_report(report, f"{content}\n", output)))
    elif as_json:
        print(content)
    else:
        _show(report)


def _show(report: "ProbeReport") -> None:
    """The title, a sentence for each probe, and tables."""
    from rich.table import Table
    from rich.text import Text

    out = console(120)
    out.print(Text(report.title, "bold"))
    sentences = Table(box=None, show_header=False, pad_edge=False)
    sentences.add_column(style="bold", no_wrap=True)
    sentences.add_column(overflow="fold")
    for topic, sentence in report.lines:
        sentences.add_row(topic, Text(sentence))
    out.print(sentences)
    for table in report.tables:
        drawn = Table(title=table.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for column in table.columns:
            drawn.add_column(column.title, justify="right" if column.form else "left")
        for cells in table.texts(str, "{}"):
            drawn.add_row(*map(Text, cells))
        out.print("", drawn)
        if table.note:
            out.print(Text(table.note, "dim"))
