"""The gallery of encodings on the site: a page for each with words, formula, pictures, cost, results and paper, and an
index with one picture each. `python docs/website.py` writes it; nothing of it is kept in the repository."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import formulas

from ordinate import encodings
from ordinate.core.encoding import EXTRAPOLATION, FAMILIES
from ordinate.probes.encoding_effects import Setting
from ordinate.report.draw_matplotlib import save
from ordinate.report.encoding_figures import EncodingFigures, encoding_figures
from ordinate.report.overhead import cells, measured
from ordinate.report.table import markdown_text

DOCS = Path(__file__).parent
SETTING = Setting()
# Of the pictures of an encoding, the one that tells most at a glance comes first.
TELLING = ("similarity", "taken", "score", "bias", "change", "formula")

HEAD = """# All encodings

{count} encodings in {families} families. Each page has what it does in plain words, its formula, pictures that are
computed from the code, its cost, what it did in the comparisons that ship, and its paper. The app (`ordinate app`) has
the same with sliders; `ordinate show NAME` prints it.

"""


def write(folder: Path) -> dict[str, list[str]]:
    """Writes all pages and pictures to `folder`, and gives the names of the encodings by family."""
    folder.mkdir(parents=True)
    found = json.loads((DOCS / "encodings.json").read_text())
    costs = measured()
    families: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for name in encodings.names():
        about, drawn = encodings.describe(name), encoding_figures(name, SETTING)
        families[about["family"]].append(name)
        (folder / f"{name}-formula.svg").write_text(formulas.svg(about["formula"]), encoding="utf-8")
        for figure in drawn.figures:
            (folder / f"{figure.name}.svg").write_bytes(save(figure, ("svg",))["svg"])
        lines = [*_words(name, about), *_pictures(drawn), *_cost(costs.get(name)), *_results(found.get(name, []))]
        text = "\n".join([*lines, *_parameters(about), *_paper(about["paper"])])
        (folder / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    (folder / "index.md").write_text(_index(folder, families), encoding="utf-8")
    return families


def _index(folder: Path, families: dict[str, list[str]]) -> str:
    """One card for each encoding, by family."""
    lines = [HEAD.format(count=len(encodings.names()), families=len(families))]
    for family, names in families.items():
        lines += [f"## {family.capitalize()}", "", f"{FAMILIES[family].capitalize()}.", "", '<div class="gallery">']  # type: ignore[index]
        for name in names:
            shown = next(file for kind in TELLING if (file := folder / f"{name}-{kind}.svg").exists())
            picture = f'<img src="{shown.name}" alt="" loading="lazy">'
            words = html.escape(_first_sentence(encodings.describe(name)["words"]))
            lines.append(f'<a href="{name}.html"><b>{name}</b>{picture}<span>{words}</span></a>')
        lines += ["</div>", ""]
    return "\n".join(lines)


def _first_sentence(words: str) -> str:
    return re.split(r"(?<=[^.]\.) (?=[A-Z])", words)[0]


def _prose(text: str) -> str:
    """Sentences of a docstring: what stands between backticks is code, all else is escaped."""
    parts = text.split("`")
    return "".join(f"`{part}`" if index % 2 else markdown_text(part) for index, part in enumerate(parts))


def _words(name: str, about: dict[str, Any]) -> Iterator[str]:
    yield from (f"# {markdown_text(name)}", "", _prose(about["words"]), "")
    latex = html.escape(about["formula"], quote=True)
    yield f'<p class="formula"><img src="{name}-formula.svg" alt="{latex}"></p>\n'
    traits = ["only distances count" if about["shift_invariant"] else "absolute positions count"]
    traits += ["causal models only"] * about["causal_only"] + ["parameters of its own in each layer"] * about[
        "per_layer"
    ]
    yield f"- **Family**: {about['family']}, {FAMILIES[about['family']]}"
    yield f"- **Past the trained length**: {about['extrapolation']}: {EXTRAPOLATION[about['extrapolation']]}"
    yield f"- **Traits**: {', '.join(traits)}; {'trained' if about['trained'] else 'nothing to train'}"
    yield f'- **To use it**: `ordinate.encodings.create("{name}", dim=, heads=, length=)`'
    yield ""


def _pictures(drawn: EncodingFigures) -> Iterator[str]:
    if not drawn.figures:
        return
    size = f"{SETTING.heads} heads of width {SETTING.head_dim}, trained length {SETTING.length}"
    yield from ("## Pictures", "", f"Computed from the code: {size}.", "")
    yield from (f"*{markdown_text(remark)}*\n" for remark in drawn.remarks)
    yield '<div class="pictures">'
    for figure in drawn.figures:
        title = html.escape(figure.title, quote=True)
        words = f"<figcaption>{html.escape(figure.note)}</figcaption>"
        yield f'<figure><img src="{figure.name}.svg" alt="{title}" loading="lazy">{words}</figure>'
    yield "</div>\n"


def _cost(row: dict[str, Any] | None) -> Iterator[str]:
    yield from ("## Cost", "")
    if row is None:
        yield "Not measured yet: `ordinate bench` does.\n"
        return
    _, parameters, per_layer, step, memory, decoding, path = cells(row)
    yield "| parameters | per layer | training step | memory | decoding step | path |\n|---:|---:|---:|---:|---:|---|"
    yield f"| {parameters} | {per_layer} | {step} | {memory} | {decoding} | {path} |\n"
    yield "Times the cost of `none`, on [the model and machine of all costs](../COST.md).\n"


def _results(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Where it wins", "")
    if not rows:
        yield "No comparison that ships has it yet: [Compare](../compare.md) says how to make one.\n"
        return
    won = dict.fromkeys(row["task"] for row in rows if row["recommended"])
    tasks = ", ".join(f"`{task}`" for task in won)
    yield f"Recommended, alone or with others, on {tasks}." if won else "No comparison that ships recommends it."
    yield "Comparisons that tuned its learning rate: seeds that learned the task, and to which multiple of the trained"
    yield "length they hold (+: the longest that was tested; a task scored by loss has neither).\n"
    yield "| as | task | seeds, reach | recommended | comparison |\n|---|---|---|---|---|"
    for row in rows:
        link = f"[{markdown_text(row['study'])}: {markdown_text(row['part'])}](../RESULTS.md#{row['anchor']})"
        use = "yes" if row["recommended"] else ""
        yield f"| `{row['encoding']}` | `{row['task']}` | {row['result']} | {use} | {link} |"
    yield ""


def _parameters(about: dict[str, Any]) -> Iterator[str]:
    if about["parameters"]:
        yield "## Parameters\n\n| parameter | default | what | kind |\n|---|---|---|---|"
        for item in about["parameters"]:
            default = json.dumps(item["default"]).strip('"').replace("null", "none").removesuffix(".0")
            yield f"| `{item['name']}` | {default} | {_prose(item['help'])} | {_prose(item['kind'])} |"
        yield ""


def _paper(paper: dict[str, Any] | None) -> Iterator[str]:
    if paper is not None:
        arxiv = f" [arXiv:{paper['arxiv']}](https://arxiv.org/abs/{paper['arxiv']})" if paper["arxiv"] else ""
        venue = f" {markdown_text(paper['venue'])}." if paper["venue"] else ""
        yield f"## Paper\n\n{markdown_text(', '.join(paper['authors']))}: *{markdown_text(paper['title'])}*,"
        yield f"{paper['year']}.{venue}{arxiv}\n\n```bibtex\n{paper['bibtex']}\n```"
