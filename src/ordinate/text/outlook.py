"""An estimate of the shards, time and disk that a preparation needs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ordinate.text.jobs import PreparedSource
from ordinate.text.manifest import TOKENIZER, Survey
from ordinate.text.prepare import surveyed
from ordinate.text.request import PrepareRequest
from ordinate.text.shard import dtype_of

SPEED = 1.2e6  # bytes of text that one core tokenizes in a second, about
LEARNING = 2e6  # bytes of text in a second, about, that a tokenizer is learned from
BYTES_PER_TOKEN = 3.5  # about, where text is English or code


@dataclass(frozen=True)
class Outlook:
    """How much there is to do."""

    files: int
    shards: int
    done: int  # of the shards
    text: float  # bytes of it, about, in all
    left: float  # bytes of it that are not tokens yet
    to_learn: float  # bytes of it to learn a tokenizer from
    disk: float  # bytes that all of it takes, about

    def seconds(self, workers: int) -> float:
        """About, without the time to fetch files."""
        return self.to_learn / LEARNING + self.left / SPEED / max(1, min(workers, self.shards - self.done))


def look_ahead(request: PrepareRequest, folder: Path) -> Outlook:
    """Look at the source and at what the folder has; nothing is written."""
    survey = surveyed(request, folder)
    if survey is None:
        files, origin = request.source.files()
        survey = Survey(origin, files, 0)
    pieces = request.pieces(survey)
    done = [PreparedSource(request.source, folder).has(number) for number in range(len(pieces))]
    text = sum(piece.size for piece in pieces) * request.source.expansion
    left = sum(piece.size for piece, there in zip(pieces, done, strict=True) if not there) * request.source.expansion
    learned = request.tokenizer is not None or (folder / TOKENIZER).exists()
    to_learn = 0.0 if learned else min(text, request.recipe.tokenizer_bytes)
    disk = text / BYTES_PER_TOKEN * np.dtype(dtype_of(request.recipe.vocabulary)).itemsize
    names = {file.name for piece in pieces for file in piece.files}
    return Outlook(len(names), len(pieces), sum(done), text, left, to_learn, disk)
