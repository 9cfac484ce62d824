"""`ordinate lm prepare` against the tokenizer's own `encode_batch` on the same text: what all the rest costs."""

import os
import tempfile
from itertools import count
from pathlib import Path

from benchmarks.measure import Row, compare, in_turns
from benchmarks.text import write_text
from ordinate.core.extras import optional
from ordinate.text import prepare, request
from ordinate.text.tokenizer import load


def run(rounds: int = 5, tiny: bool = False) -> dict[str, list[Row]]:
    """Both in this process with one thread, as a worker has it: a tokenizer, and a third of the standard library."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        folder, number = Path(name), count()
        source = f"text:{write_text(folder / 'text', 100_000)}" if tiny else "stdlib"
        prepare(request(source, max_shards=1), folder / "first", workers=0)
        tokenizer = load(folder / "first/tokenizer.json")
        with_tokenizer = request(source, max_shards=1, tokenizer=folder / "first")
        pieces = with_tokenizer.source.pieces(with_tokenizer.source.files()[0])[:1]
        batches = with_tokenizer.source.read(pieces[0], folder)
        documents = [document.text for batch in batches for document in batch.documents]
        things = {
            "prepare": lambda: prepare(with_tokenizer, folder / str(next(number)), workers=0),
            "encode_batch": lambda: [encoding.ids for encoding in tokenizer.encode_batch(documents)],
        }
        rows = [compare(in_turns(things, rounds=rounds, warmup=1), "prepare", "encode_batch", required="<= 1.2")]
    version = optional("tokenizers").__version__
    return {f"Text to shards, against tokenizers {version} alone (times of it)": rows}
