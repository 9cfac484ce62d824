"""Writes and runs the notebooks: `python docs/notebooks.py [--no-run] [NAME ...]`.

notebooks/NAME.py are jupytext scripts, of which NAME.ipynb is made; notebooks/lessons has one of every lesson. What is
made is not committed, as it can be made again and its pictures would fill the history; only those that Colab opens are,
without outputs. If the repository has a GitHub address, those begin with a badge.
"""

import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

from ordinate import lessons
from ordinate.teaching.notebook import percent_script

FOLDER = Path(__file__).parents[1] / "notebooks"
COLAB = ("quick_start", "encodings_by_hand")  # those that run anywhere in a minute
SECONDS = 600  # for one cell, on a very busy machine
INSTALL = """# %%
import sys

if "google.colab" in sys.modules:
    %pip install --quiet 'ordinate[report]'
"""


def scripts() -> dict[str, str]:
    """The text of every notebook by its name."""
    own = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
    taught = {f"lessons/{lesson.number:02}_{lesson.name}": percent_script(lesson) for lesson in lessons.every()}
    return own | taught


def notebook(name: str, text: str) -> nbformat.NotebookNode:
    """A notebook without outputs; its cells have numbers for names, so that it is the same every time."""
    made = jupytext.reads(text, fmt="py:percent")
    if name in COLAB:
        made.cells[1:1] = jupytext.reads(INSTALL, fmt="py:percent").cells
        if badge := colab_badge(name):
            made.cells.insert(0, nbformat.v4.new_markdown_cell(badge))
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"
    made.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return made


def colab_badge(name: str) -> str:
    """A link that opens the notebook in Colab; empty if nobody knows where the repository is published."""
    command = ["git", "-C", str(FOLDER), "remote", "get-url", "origin"]
    address = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    found = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?$", address)
    if found is None:
        return ""
    link = f"https://colab.research.google.com/github/{found[1]}/blob/main/notebooks/{name}.ipynb"
    return f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({link})"


def run(made: nbformat.NotebookNode, folder: Path) -> None:
    """Execute all cells; the first error ends it."""
    NotebookClient(
        made, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()


def main(arguments: list[str]) -> None:
    wanted = [argument for argument in arguments if not argument.startswith("-")]
    known = scripts()
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"no notebook {', '.join(unknown)}: choose from {', '.join(known)}")
    for name, text in known.items():
        if wanted and name not in wanted:
            continue
        made, path = notebook(name, text), FOLDER / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        if "--no-run" not in arguments and name not in COLAB:
            run(made, path.parent)
        nbformat.write(made, path)
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
