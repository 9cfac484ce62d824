"""From a source of text to a corpus: a folder of shards that training reads. It can be stopped and resumed."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store.files import no_link, read_bytes, write_atomic
from ordinate.text.corpus import Corpus, open_corpus
from ordinate.text.jobs import LearnTokenizer, PreparedSource, TokenizePiece
from ordinate.text.manifest import MANIFEST, SPLITS, TOKENIZER, Manifest, Survey, read_recipe, shard_name, write_recipe
from ordinate.text.pool import Work, carry_out
from ordinate.text.request import PrepareRequest
from ordinate.text.shard import Header, open_shard
from ordinate.text.split import valid_below

_ELSEWHERE = "choose another folder with --out, or remove this one"


@dataclass(frozen=True)
class PrepareProgress:
    """How far a stage of the work is."""

    stage: str
    share: float  # done, from 0 to 1
    seconds_left: float | None  # unknown at its start, and at its end while the last is being put in order


Watch = Callable[[PrepareProgress], None]


def prepare(
    request: PrepareRequest, folder: str | Path, *, workers: int | None = None, watch: Watch | None = None
) -> Corpus:
    """Do what the folder still lacks. The result is the same for any number of workers (none: in this process).

    A folder that was begun with another request, or from files that have changed since, is refused.
    """
    folder = Path(folder)
    workers = cores() if workers is None else workers
    if workers < 0:
        raise InputError(f"workers must be at least 0 (none: all in this process), got {workers}")
    watch = watch or (lambda progress: None)
    with _alone(folder):
        survey = surveyed(request, folder) or _survey(request, folder, watch)
        finished = (folder / MANIFEST).exists()
        if not finished:
            _Preparation(request, folder, survey, workers, watch).carry_out()
    return open_corpus(folder, verify=finished)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def surveyed(request: PrepareRequest, folder: Path) -> Survey | None:
    """The survey of a folder that was begun, or none; a folder with another recipe is refused."""
    known = read_recipe(folder)
    if known is None:
        return None
    recipe, survey = known
    if different := recipe.differences(request.recipe):
        raise InputError(f"{folder} was begun with {'; '.join(different)}: {_ELSEWHERE}")
    if not recipe.revision:  # files at hand may have changed
        files, origin = request.source.files()
        changed = sorted(set(files) ^ set(survey.files))
        if changed or origin != survey.origin:
            first = f"{changed[0].name!r}" if changed else ", ".join(survey.origin)
            raise InputError(f"the source has changed since {folder} was begun ({first}): {_ELSEWHERE}")
    return survey


def _survey(request: PrepareRequest, folder: Path, watch: Watch) -> Survey:
    """Look at the source for the first time."""
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in (".lock", "downloads"))
    if strangers:
        raise InputError(f"{folder} holds other things ({strangers[0]!r}): choose another folder with --out")
    watch(PrepareProgress("looking at the source", 0.0, None))
    files, origin = request.source.files()
    survey = Survey(origin, files, 0)
    kept, pieces = PreparedSource(request.source.pinned(origin), folder), request.pieces(survey)
    texts = (document.text for piece in pieces for batch in kept.batches(piece) for document in batch.documents)
    survey = Survey(origin, files, valid_below(texts, request.recipe.valid))
    write_recipe(folder, request.recipe, survey)
    return survey


class _Preparation:
    """One call of `prepare` that has something to do."""

    def __init__(self, request: PrepareRequest, folder: Path, survey: Survey, workers: int, watch: Watch) -> None:
        self.request, self.recipe, self.survey = request, request.recipe, survey
        self.folder, self.workers, self.watch = folder, workers, watch
        self.kept = PreparedSource(request.source.pinned(survey.origin), folder)
        self.pieces = request.pieces(survey)

    def carry_out(self) -> None:
        if not (self.folder / TOKENIZER).exists():
            self._tokenizer()
        self._shards()
        manifest = self._manifest()
        if not manifest.total("train", "tokens"):
            raise InputError("all documents are the same: a corpus needs one to validate on and others to train on")
        manifest.write(self.folder)
        shutil.rmtree(self.kept.downloads, ignore_errors=True)

    def _tokenizer(self) -> None:
        if self.request.tokenizer is not None:
            write_atomic(self.folder / TOKENIZER, read_bytes(self.request.tokenizer))
            return
        most, below = self.recipe.tokenizer_bytes, self.survey.valid_below
        task = LearnTokenizer(self.kept, self.pieces, self.recipe.vocabulary, below, most)
        size = min(sum(piece.size for piece in self.pieces), round(most / self.request.source.expansion))
        self._do("learning a tokenizer", size, [task], processes=min(1, self.workers), threads=max(1, self.workers))

    def _shards(self) -> None:
        vocabulary, below, seed = self.recipe.vocabulary, self.survey.valid_below, self.recipe.seed
        missing = [(n, piece) for n, piece in enumerate(self.pieces) if not self.kept.has(n)]
        tasks = [TokenizePiece(self.kept, piece, n, vocabulary, below, seed) for n, piece in missing]
        self._do("tokenizing", sum(piece.size for _, piece in missing), tasks, processes=self.workers, threads=1)

    def _do(self, stage: str, size: int, tasks: Sequence[Work], *, processes: int, threads: int) -> None:
        done, began = 0, time.monotonic()

        def advance(more: int) -> None:
            nonlocal done
            done += more
            share = min(1.0, done / max(1, size))
            left = (time.monotonic() - began) * (1 - share) / share if 0 < share < 1 else None
            self.watch(PrepareProgress(stage, share, left))

        advance(0)
        carry_out(tasks, processes=processes, threads=threads, watch=advance)

    def _manifest(self) -> Manifest:
        digest = sha256(read_bytes(self.folder / TOKENIZER)).hexdigest()
        shards = {
            split: [self._header(shard_name(split, n), digest) for n in range(len(self.pieces))] for split in SPLITS
        }
        return Manifest(self.recipe, self.survey, digest, shards)

    def _header(self, name: str, tokenizer: str) -> Header:
        shard = open_shard(self.folder / name)
        if shard.header.tokenizer != tokenizer:
            raise InputError(f"{shard.path} was made with another tokenizer: {_ELSEWHERE}")
        shard.verify()  # it may be from an earlier start
        return shard.header


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder; the lock of a process that dies is released."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "a", opener=no_link)  # noqa: SIM115 - open as long as the work goes on
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}): choose another folder with --out") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{folder} is being prepared by another process: wait for it") from error
        for leftover in folder.glob(f".*.{'[0-9a-f]' * 32}.tmp"):  # of one that was killed
            leftover.unlink()
        yield
