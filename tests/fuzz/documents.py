"""Files that commands read: settings as TOML, and results as CSV."""

from pathlib import Path
from random import Random

from ordinate import encodings, tasks

from .damage import damaged
from .hostile import NUMBERS, WORDS, lay_out, value
from .lines import KEYS, USUAL

TOML = (
    "''", '"x"', "true", "1979-05-27", "[1, 2]", "[[1]]", "{}", "{a = 1}", "[" * 5000 + "]" * 5000, "'''\nx'''", "nan",
    "-inf", "0x10", "1e400",
)  # fmt: skip
HEADER = ["encoding", "task", "seed", "length", "split", "score"]
MORE = ["chance", "n", "bar", "direction", "note"]


def settings(draw: Random, folder: Path) -> list[str]:
    """`train --file`, with a file that may be damaged."""
    lay_out(folder)
    given = dict(USUAL)
    for _ in range(draw.randrange(3)):
        given[draw.choice(KEYS) or "empty"] = draw.choice((*TOML, *NUMBERS, *WORDS))
    if draw.random() < 0.1:
        given[".".join("a" * draw.choice((2, 500, 5000)))] = "1"
    text = "\n".join(f"{key} = {text}" for key, text in given.items())
    if draw.random() < 0.3:
        text += draw.choice(("\n[model]\ndim = 4\n", "\n[[model]]\n", "\n[" + "a." * 3000 + "b]\n", "\n[x]\ny=1\n"))
    data = text.encode("utf-8", "surrogateescape")
    if draw.random() < 0.3:
        data = damaged(draw, data)
    (folder / "settings.toml").write_bytes(draw.choice((b"", b"", b"\xef\xbb\xbf", b"\xff\xfe")) + data)
    more = [f"{draw.choice(KEYS)}={value(draw)}"] if draw.random() < 0.3 else []
    chosen = draw.choice(tasks.names()), "-e", draw.choice(encodings.names())
    return ["train", *chosen, *more, "--file", "settings.toml", "--dry-run"]


def results(draw: Random, folder: Path) -> list[str]:
    """`analyze`, on a table that may be damaged in its cells or its bytes."""
    lay_out(folder)
    header = HEADER + draw.sample(MORE, draw.randrange(len(MORE) + 1))
    rows = [
        _row(draw, header, name, task, seed) for name in "abc" for task in "xy" for seed in range(draw.choice((1, 6)))
    ]
    table = [header, *(row for group in rows for row in group)]
    for _ in range(draw.choice((0, 0, 1, 2))):
        row = draw.choice(table)
        row[draw.randrange(len(row))] = draw.choice((*NUMBERS, *WORDS))
    if draw.random() < 0.05:
        draw.choice(table).append("more")
    comma = draw.choice(",,,;\t")
    text = draw.choice(("\n", "\n", "\r\n")).join(comma.join(row) for row in table) + "\n"
    data = text.encode("utf-8", "surrogateescape")
    if draw.random() < 0.2:
        data = damaged(draw, data)
    (folder / "results.csv").write_bytes(draw.choice((b"", b"", b"\xef\xbb\xbf", b"\xff\xfe")) + data)
    form = ["--format", draw.choice(("html", "md", "csv", "tex", "json"))]
    return ["analyze", "results.csv", *draw.choice(([], [], ["--json"], form, ["-o", "page.html"]))]


def _row(draw: Random, header: list[str], encoding: str, task: str, seed: int) -> list[list[str]]:
    """One encoding and seed on one task: in distribution, and beyond."""
    cells = {"encoding": encoding, "task": task, "seed": str(seed), "chance": "0.1", "n": "1000", "bar": "0.95"}
    cells |= {"direction": "higher", "note": "x"}
    places = (("id", 8, 1.0), ("ood", 16, draw.random()))
    return [
        [(cells | {"split": split, "length": str(length), "score": f"{score:.3f}"})[name] for name in header]
        for split, length, score in places
    ]
