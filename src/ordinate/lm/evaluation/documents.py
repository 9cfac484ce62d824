"""The documents that a model is evaluated on: from the start of the validation split, each whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ordinate.lm.evaluation.scorer import Tokens
from ordinate.text.corpus import Corpus

CHUNK = 2**20  # tokens that are read at once
MOST = 2**23  # tokens of the split that are looked at: enough for long documents, and not the whole of a large corpus


@dataclass(frozen=True)
class TextBlock:
    """A part of a document."""

    document: int
    tokens: Tokens


def read_documents(corpus: Corpus) -> list[Tokens]:
    """Documents of the validation split in their order, whole, up to a limit."""
    total = min(corpus.tokens("valid"), MOST)
    parts: list[Tokens] = []
    found: list[Tokens] = []
    last = -1
    for start in range(0, total, CHUNK):
        tokens, numbers = corpus.read("valid", start, min(CHUNK, total - start))
        edges = np.flatnonzero(np.diff(numbers)) + 1
        for piece, number in zip(np.split(tokens, edges), numbers[np.concatenate(([0], edges))], strict=True):
            if number != last and parts:
                found.append(np.concatenate(parts))
                parts = []
            parts.append(piece)
            last = number
    if parts and (total == corpus.tokens("valid") or not found):  # otherwise the last one may be cut
        found.append(np.concatenate(parts))
    return found


def first_tokens(documents: list[Tokens], count: int) -> list[TextBlock]:
    """Whole documents until there are so many targets; the last one is cut."""
    blocks: list[TextBlock] = []
    for number, tokens in enumerate(documents):
        if count <= 0:
            break
        if len(tokens) > 1:
            blocks.append(TextBlock(number, tokens[: count + 1]))
            count -= len(blocks[-1].tokens) - 1
    return blocks


def spread_blocks(documents: list[Tokens], least: int, most: int, step: int) -> Iterator[TextBlock]:
    """Blocks of `least` to `most` targets that begin every `step` tokens: the first of each document that is long
    enough, then the second of each, and so on, so that the first few are of as many documents as possible."""

    def of(number: int) -> Iterator[TextBlock]:
        for start in range(0, len(documents[number]) - least, step):
            yield TextBlock(number, documents[number][start : start + most + 1])

    turns = zip_longest(*(of(number) for number in range(len(documents))))
    return (block for turn in turns for block in turn if block is not None)
