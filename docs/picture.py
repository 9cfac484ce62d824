"""Makes the README's picture from stored results: `python docs/picture.py`, after `make demo`."""

import io
import re
from pathlib import Path

from rich.console import Console

from ordinate.cli.train import show_result
from ordinate.core.config import build
from ordinate.store import open_store
from ordinate.training import RunConfig

ENCODINGS = ("rope", "learned(rows=64)")


def main() -> None:
    console = Console(record=True, width=104, highlight=False, markup=False, file=io.StringIO())
    done = {run.config["model"]["encoding"]: run for run in open_store("runs").runs() if run.done}
    for encoding in ENCODINGS:
        run = done[encoding]
        console.print(f"$ ordinate train {run.config['task']} --encoding {encoding!r}", style="green")
        show_result(run.result, build(RunConfig, run.config), console)
        console.print()
    picture = console.export_svg(title="ordinate", clear=False)
    # the picture must not ask the network for a font
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace(
        "Fira Code, monospace", "monospace"
    )
    (Path(__file__).parent / "train.svg").write_text(picture)


main()
