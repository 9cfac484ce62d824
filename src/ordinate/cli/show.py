"""`ordinate show`: one thing explained."""

import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ordinate.core.encoding import Encoding

HEIGHT, DISTANCES = 8, 64


def run(
    name: str = typer.Argument(help="The name of an encoding or a task."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Explain an encoding or a task: plain words, formula or example, parameters, paper, a small plot."""
    from rich.console import Console

    from ordinate import encodings, tasks
    from ordinate.core.errors import InputError, nearest

    known = (*encodings.names(), *tasks.names())
    if name not in known:
        raise InputError(f"unknown encoding or task {name!r}: {nearest(name, known)}")
    item = encodings.describe(name) if name in encodings.names() else tasks.describe(name)
    if as_json:
        print(json.dumps(item, indent=1))
        return
    console = Console(highlight=False, width=min(Console().width, 110))
    console.print(f"[bold]{name}[/bold]  ({item['family']})\n")
    console.print(item["words"] + "\n", markup=False)
    if name in encodings.names():
        _encoding(console, item)
        _parameters(console, item["parameters"])
        _plot(console, encodings.example(name))
        if item["paper"] is not None:
            console.print(item["paper"]["bibtex"], markup=False, soft_wrap=True)
    else:
        _task(console, item)
        _parameters(console, item["parameters"])


def _line(console: "Console", title: str, text: str) -> None:
    console.print(f"[bold]{title}[/bold]", end="   ")
    console.print(text, markup=False)


def _encoding(console: "Console", item: dict[str, Any]) -> None:
    from ordinate.core.encoding import PAST_MEANS

    _line(console, "Formula", item["formula"])
    _line(console, "Past the trained length", f"{item['past']}: {PAST_MEANS[item['past']]}")
    traits = ["shift invariant" if item["shift_invariant"] else "depends on absolute position"]
    traits += ["causal models only"] * item["causal_only"] + ["parameters of its own in each layer"] * item["per_layer"]
    traits += ["trained" if item["trained"] else "nothing to train"]
    _line(console, "Traits", ", ".join(traits) + "\n")


def _task(console: "Console", item: dict[str, Any]) -> None:
    _line(console, "Example", item["example"])
    _line(console, "Model", f"{item['form']}, answers read from: {item['readout']}")
    bar = "no bar" if item["bar"] is None else f"learnt from {item['bar']:.0%} on"
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
    table = Table(box=None, pad_edge=False, header_style="bold")  # help comes from plug-ins too: no markup in it
    for column in ("parameter", "default", "what", "kind"):
        table.add_column(column, overflow="fold")
    for item in parameters:
        default = json.dumps(item["default"]).strip('"').replace("null", "none").removesuffix(".0")
        table.add_row(item["name"], default, Text(item["help"]), Text(item["kind"]))
    console.print(table, "")


def _plot(console: "Console", encoding: "Encoding") -> None:
    """How strongly a query favours a key of equal content, by distance."""
    lines = _profiles(encoding)
    blocks = " ▁▂▃▄▅▆▇█" if console.encoding.lower().startswith("utf") else " ...::::#"
    for title, values in lines:
        low, high = min(values), max(values)
        if high - low < 1e-9:
            continue
        console.print(f"{title}  (left: the token itself, right: {DISTANCES - 1} back)")
        levels = [(value - low) / (high - low) * (HEIGHT * 8 - 1) + 1 for value in values]
        for row in reversed(range(HEIGHT)):
            cells = (blocks[max(0, min(8, int(level - row * 8)))] for level in levels)
            edge = f"{high:9.3g} " if row == HEIGHT - 1 else f"{low:9.3g} " if row == 0 else " " * 10
            console.print(edge + "".join(cells), style="cyan", no_wrap=True)
        console.print()
    if not lines:
        console.print("No plot: untrained, it treats all distances alike, or it depends on content.\n")


def _profiles(encoding: "Encoding") -> list[tuple[str, list[float]]]:
    import torch

    from ordinate import Pair, Place

    axes, width = encoding.shape.axes, encoding.shape.head_dim
    step = torch.arange(DISTANCES)[None, :, None]
    rows = torch.cat((step, *[torch.zeros_like(step)] * (axes - 1)), dim=-1)
    place = Place(rows, torch.zeros(1, DISTANCES, dtype=torch.long), first=0 if axes == 1 else None)
    last, found = DISTANCES - 1, []
    with torch.no_grad():
        added = encoding.embed(torch.zeros(1, DISTANCES, encoding.shape.dim), place)[0]
        if added.abs().sum() > 0:
            similarity = torch.cosine_similarity(added, added[last:], dim=-1).flip(0)
            found.append(("Similarity of the added vectors", similarity.tolist()))
        ones, state = torch.ones(1, encoding.shape.heads, DISTANCES, width), encoding.prepare(place)
        q, k = encoding.rotate(ones, state, "q"), encoding.rotate(ones, state, "k")
        if not torch.equal(q, ones):
            found.append(("Score of equal channels", (q[0, 0, last] @ k[0, 0].T / width).flip(0).tolist()))
        bias = encoding.bias(Pair.of(place)) if axes == 1 else None
        if bias is not None:
            found += [(f"Bias of head {h + 1}", bias[0, h, last].flip(0).tolist()) for h in (0, bias.shape[1] - 1)]
    return [(title, values) for title, values in found if max(values) - min(values) > 1e-6]
