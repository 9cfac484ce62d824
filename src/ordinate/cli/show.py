"""`ordinate show`: explain an encoding or a task."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typer import Argument

from ordinate.cli.options import AsJson
from ordinate.core.errors import InputError, nearest, plugin_errors

if TYPE_CHECKING:
    from rich.console import Console


def run(
    what: str = Argument(
        metavar="NAME", help="An encoding or a task; an encoding may have parameters: 'kerple(kind=power)'."
    ),
    as_json: AsJson = False,
) -> None:
    """Explain an encoding or a task: description, formula or example, parameters, paper, a small plot."""
    from rich.console import Console

    from ordinate import encodings, tasks

    name, parameters = _read(what, encodings.names(), tasks.names())
    with plugin_errors(f"{name} cannot be made"):
        item = encodings.describe(name, **parameters) if name in encodings.names() else tasks.describe(name)
    if as_json:
        print(json.dumps(item, indent=1))
        return
    console = Console(highlight=False, markup=False, width=min(Console().width, 110))
    _line(console, what, f"({item['family']})\n")
    console.print(item["words"] + "\n")
    if name in encodings.names():
        _encoding(console, item)
        _parameters(console, item["parameters"])
        _pictures(console, name, **parameters)
        if item["paper"] is not None:
            console.print(item["paper"]["bibtex"], soft_wrap=True)
    else:
        _task(console, item)
        _parameters(console, item["parameters"])


def _read(what: str, encodings: Sequence[str], tasks: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The name and the parameters in `what`."""
    from ordinate.core.parsing import parse_choice

    known = (*encodings, *tasks)
    if what in known:
        return what, {}
    if not set(what) & set("+("):
        raise InputError(f"unknown encoding or task {what!r}: {nearest(what, known)}")
    choices = parse_choice(what)
    if len(choices) > 1:
        names = ", then ".join(f"ordinate show {choice.name}" for choice in choices)
        raise InputError(f"{what!r} is {len(choices)} encodings, and show explains one at a time: {names}")
    (choice,) = choices
    if choice.name not in known:
        raise InputError(f"unknown encoding or task {choice.name!r}: {nearest(choice.name, known)}")
    if choice.name in tasks:
        raise InputError(f"show explains a task with its defaults: ordinate show {choice.name}")
    return choice.name, dict(choice.parameters)


def _line(console: "Console", title: str, text: str) -> None:
    from rich.text import Text

    console.print(Text.assemble((title, "bold"), "   ", text))


def _encoding(console: "Console", item: dict[str, Any]) -> None:
    from ordinate.core.encoding import EXTRAPOLATION

    _line(console, "Formula", item["formula"])
    _line(console, "Past the trained length", f"{item['extrapolation']}: {EXTRAPOLATION[item['extrapolation']]}")
    traits = ["shift invariant" if item["shift_invariant"] else "depends on absolute position"]
    traits += ["causal models only"] * item["causal_only"] + ["separate parameters in each layer"] * item["per_layer"]
    traits += ["trained" if item["trained"] else "nothing to train"]
    _line(console, "Traits", ", ".join(traits) + "\n")


def _task(console: "Console", item: dict[str, Any]) -> None:
    _line(console, "Example", item["example"])
    _line(console, "Model", f"{item['form']}, answers read from: {item['readout']}")
    bar = "no bar" if item["bar"] is None else f"learned from {item['bar']:.0%} on"
    _line(console, "Score", f"{item['metric']}, {bar}")
    lengths = item["train_lengths"]
    span = f"lengths {lengths[0]} to {lengths[1]}" if lengths[0] < lengths[1] else f"length {lengths[0]}"
    fixed = f"{item['dataset']} fixed sequences" if item["dataset"] else f"at most {item['steps']} steps by default"
    _line(console, "Trained at", f"{span}, {fixed}")
    chance = ", ".join(f"{value:.3g} at {length}" for length, value in item["chance"].items())
    _line(console, "Chance", chance + "\n")


def _parameters(console: "Console", parameters: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not parameters:
        console.print("No parameters.\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("parameter", "default", "what", "kind"):
        table.add_column(column, overflow="fold")
    for item in parameters:
        default = json.dumps(item["default"]).strip('"').replace("null", "none").removesuffix(".0")
        table.add_row(*(Text(cell) for cell in (item["name"], default, item["help"], item["kind"])))
    console.print(table, "")


def _pictures(console: "Console", name: str, **parameters: Any) -> None:
    from ordinate.report.encoding_terminal import draw, text_pictures

    try:
        remark, pictures = text_pictures(name, **parameters)
    except Exception as error:  # a plug-in with a faulty hook
        remark, pictures = f"No picture: {type(error).__name__}: {error}", []
    if remark:
        console.print(remark + "\n")
    for picture in pictures:
        console.print(picture.title)
        for line in draw(picture, blocks=console.encoding.lower().startswith("utf")):
            console.print(line, style="cyan", no_wrap=True)
        console.print()
