"""`ordinate lm prepare`: from text to a corpus of tokens."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, Option

from ordinate.cli.console import say
from ordinate.cli.options import AsJson, Workers
from ordinate.core.display import counted, duration, storage
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.cli.progress import Bar
    from ordinate.text import Corpus
    from ordinate.text.manifest import Count
    from ordinate.text.outlook import Outlook
    from ordinate.text.prepare import PrepareProgress
    from ordinate.text.request import PrepareRequest

COUNTED: "tuple[Count, ...]" = ("tokens", "documents", "bytes", "replaced")  # of each split
LINES = 10.0  # seconds between two lines of progress without a terminal


def run(
    source: str = Argument(
        "stdlib", help="stdlib, fineweb-edu[:sample-10BT|sample-100BT|default], parquet:DIR, jsonl:FILE or text:DIR."
    ),
    out: Path | None = Option(None, "--out", "-o", help="Folder of the corpus (default: data/NAME of the source)."),
    vocabulary: int | None = Option(None, help="Vocabulary size (default: 65,536 for fineweb-edu, 4,096 for others)."),
    tokenizer: Path | None = Option(None, help="Tokenizer of another corpus (default: learn one from the text)."),
    tokenizer_bytes: int = Option(10**9, help="Learn the tokenizer from at most so many bytes."),
    valid: float | None = Option(
        None, help="Validation share of the documents (default: 0.05 for stdlib, 0.01 for others)."
    ),
    max_shards: int | None = Option(None, help="Prepare only the first N shards."),
    revision: str = Option("", help="Branch, tag or commit of fineweb-edu (default: main)."),
    seed: int = Option(0, help="Seed of the order of documents within a shard."),
    workers: Workers = None,
    as_json: AsJson = False,
    dry_run: bool = Option(False, "--dry-run", help="Print files, shards, time and disk; then stop."),
) -> None:
    """Prepare a corpus: learn a tokenizer, tokenize text into shards, hold out documents for validation.

    Without arguments, the text is the source code of Python's standard library. The same command resumes after an
    interruption. The same text gives the same tokens with any number of workers.
    """
    from ordinate.cli.progress import Bar
    from ordinate.core.extras import require_extra
    from ordinate.text import prepare, request
    from ordinate.text.outlook import look_ahead
    from ordinate.text.prepare import cores

    require_extra("lm")
    wanted = request(
        source, vocabulary=vocabulary, tokenizer=tokenizer, tokenizer_bytes=tokenizer_bytes, valid=valid, seed=seed,
        max_shards=max_shards, revision=revision,
    )  # fmt: skip
    folder = out or Path("data") / wanted.source.name
    ahead = look_ahead(wanted, folder)
    if workers is not None and workers < 0:
        raise InputError(f"--workers must be at least 0, got {workers}")
    say(_announced(wanted, folder, ahead, cores() if workers is None else workers), stderr=True)
    if dry_run:
        return
    try:
        with Bar() as bar:
            corpus = prepare(wanted, folder, workers=workers, watch=_Display(bar).show)
    except KeyboardInterrupt:
        print("ordinate: stopped; finished shards are kept, the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(_summary(corpus), indent=1))
    else:
        say(*_described(corpus))


def _announced(wanted: "PrepareRequest", folder: Path, ahead: "Outlook", workers: int) -> str:
    """One line on the work, time and disk needed."""
    what = f"{wanted.recipe.source}: {counted(ahead.files, 'file')}, about {storage(ahead.text)} of text"
    shards = f"{counted(ahead.shards, 'shard')}, {ahead.done:,} done"
    if ahead.done == ahead.shards:
        return f"{what}; {shards}, in {folder}"
    fetched = " and the time to download it" if wanted.recipe.revision else ""
    time_needed = f"about {duration(ahead.seconds(workers))}{fetched} with {counted(max(1, workers), 'worker')}"
    return f"{what}; {shards}; {time_needed}; {storage(ahead.disk)} in {folder}"


class _Display:
    """Draws the bar; without a terminal, prints a line for each stage and every few seconds."""

    def __init__(self, bar: "Bar") -> None:
        self.bar, self.stage, self.said = bar, "", 0.0

    def show(self, now: "PrepareProgress") -> None:
        left = "" if now.seconds_left is None else f"{duration(now.seconds_left)} left"
        text = f"{now.share:.0%}  {left}".rstrip()
        self.bar.draw(now.stage, now.share, text)
        if now.stage != self.stage or time.monotonic() > self.said + LINES:
            self.stage, self.said = now.stage, time.monotonic()
            self.bar.say(f"{now.stage}  {text}")


def _summary(corpus: "Corpus") -> dict[str, Any]:
    from ordinate.text.manifest import SPLITS

    manifest = corpus.manifest
    return {
        "folder": str(corpus.folder),
        "fingerprint": corpus.fingerprint,
        "source": manifest.recipe.source,
        "origin": manifest.survey.origin,
        "vocabulary": corpus.vocabulary,
        "shards": len(manifest.shards["train"]),
    } | {split: {what: manifest.total(split, what) for what in COUNTED} for split in SPLITS}


def _described(corpus: "Corpus") -> list[str]:
    """The corpus in a few lines."""
    train, valid = (_summary(corpus)[split] for split in ("train", "valid"))
    each = (train["bytes"] + valid["bytes"]) / (train["tokens"] + valid["tokens"])
    lines = [
        f"{corpus.folder}  ({corpus.fingerprint[:12]})",
        f"  to train on     {train['tokens']:>15,} tokens  {counted(train['documents'], 'document')}",
        f"  to validate on  {valid['tokens']:>15,} tokens  {counted(valid['documents'], 'document')}",
        f"  vocabulary      {corpus.vocabulary:>15,} ids     {each:.2f} bytes of text for a token",
    ]
    if replaced := train["replaced"] + valid["replaced"]:
        lines.append(f"{counted(replaced, 'document')} held bytes that are not UTF-8: U+FFFD replaces them.")
    return lines
