"""`ordinate lm prepare` against the tokenizer's own `encode_batch` on the same text: what all the rest costs."""

import os
import tempfile
from itertools import count
from pathlib import Path

from benchmarks.measure import Row, compare, in_turns
from ordinate.text import prepare, request
from ordinate.text.installed import package
from ordinate.text.tokenizer import load


def run(rounds: int = 5) -> dict[str, list[Row]]:
    """Both in this process with one thread, as a worker has it: a tokenizer at hand, a third of the stdlib."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        folder, number = Path(name), count()
        asked = request(max_shards=1)
        prepare(asked, folder / "first", workers=0)
        tokenizer = load(folder / "first/tokenizer.json")
        asked = request(max_shards=1, tokenizer=folder / "first")
        pieces = asked.source.pieces(asked.source.files()[0])[:1]
        documents = [document.text for batch in asked.source.read(pieces[0], folder) for document in batch.documents]
        things = {
            "prepare": lambda: prepare(asked, folder / str(next(number)), workers=0),
            "encode_batch": lambda: [encoding.ids for encoding in tokenizer.encode_batch(documents)],
        }
        rows = [compare(in_turns(things, rounds=rounds, warmup=1), "prepare", "encode_batch", required="<= 1.2")]
    version = package("tokenizers").__version__
    return {f"Text to shards, against tokenizers {version} alone (times of it)": rows}
