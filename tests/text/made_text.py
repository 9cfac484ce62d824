"""Small texts to prepare corpora from."""

import json
import random
from pathlib import Path

import pyarrow
import pyarrow.parquet

from ordinate.text import Corpus
from ordinate.text.manifest import Split

WORDS = [
    "and", "the", "Ünïcode", "naïve", "日本語", "🙂", "x=[1]", "<|endoftext|>", "\x00", "\ufffd", "\tif", "\r\n", "  ",
]  # fmt: skip


def texts(count: int, seed: int = 0) -> list[str]:
    """So many different documents, the seventh of them empty."""
    draw = random.Random(seed)
    found = [f"document {n}: " + " ".join(draw.choices(WORDS, k=draw.randrange(1, 60))) for n in range(count)]
    return [*found[:6], "", *found[7:]] if count > 6 else found


def text_folder(folder: Path, documents: list[str]) -> Path:
    for number, text in enumerate(documents):
        (folder / f"{number % 3}").mkdir(parents=True, exist_ok=True)
        (folder / f"{number % 3}/{number:04d}.txt").write_bytes(text.encode())
    return folder


def jsonl_file(path: Path, documents: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text, "id": n}) + "\n" for n, text in enumerate(documents)))
    return path


def parquet_file(path: Path, documents: list[str]) -> Path:
    """With the columns of FineWeb-Edu that come first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pyarrow.table({"text": documents, "id": [str(n) for n in range(len(documents))]})
    pyarrow.parquet.write_table(table, path, row_group_size=10)
    return path


def decoded(corpus: Corpus, split: Split) -> list[str]:
    """The documents of a split, put together again from its tokens alone."""
    from ordinate.text.tokenizer import load

    tokenizer = load(corpus.folder / "tokenizer.json")
    tokens, documents = corpus.read(split, 0, corpus.tokens(split))
    found = []
    for number in range(int(documents[-1]) + 1):
        first, *rest = tokens[documents == number].tolist()
        assert first == 0
        found.append(tokenizer.decode(rest, skip_special_tokens=False))
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a corpus."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}
