"""Language models as the app reads them: from a folder of checkpoints, and their text from a folder of corpora."""

from contextlib import suppress
from pathlib import Path

import streamlit as st

from ordinate.app.stores import checkpoints, data
from ordinate.core.errors import InputError
from ordinate.lm.evaluation.stored import NAME
from ordinate.lm.stored_models import Points, StoredModel, read_model, stored_models
from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.store.claim import Claim
from ordinate.text.corpus import Corpus, open_corpus
from ordinate.text.manifest import MANIFEST


def option() -> str:
    """What a command needs to find the checkpoints that are shown here."""
    root = checkpoints()
    return "" if str(root) == "checkpoints" else f" --checkpoints {root}"


def corpora() -> dict[str, Corpus]:
    """Prepared text by its fingerprint."""
    found = {}
    for manifest in sorted(data().glob(f"*/{MANIFEST}")):
        with suppress(InputError):  # `ordinate lm` says what is wrong with it
            corpus = open_corpus(manifest.parent)
            found[corpus.fingerprint] = corpus
    return found


def models() -> tuple[dict[str, StoredModel], dict[str, str]]:
    """All models by name, and the errors of folders that cannot be read."""
    return stored_models(checkpoints(), lambda folder: _model(str(folder), _model_stamp(folder)))


def points(model: StoredModel, others: dict[str, StoredModel]) -> Points:
    """Its metrics by tokens, as far as they are written."""
    trunk = others.get(model.parent)
    folders = [model.folder, *([trunk.folder] if trunk else [])]
    return _points(str(model.folder), tuple(_stamp(folder / "metrics.jsonl") for folder in folders), model, others)


def evaluations(model: StoredModel) -> dict[str, LanguageModelEvaluation]:
    """Those of its present weights, by the name of their file."""
    stamps = tuple((path.name, _stamp(path)) for path in sorted(model.folder.glob(f"{NAME}*.json")))
    return _evaluations(str(model.folder), stamps, model.result is not None, model)


def _stamp(path: Path) -> tuple[int, int]:
    """Changes when a file does; zeros without one."""
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_mtime_ns, about.st_size


def _model_stamp(folder: Path) -> tuple[object, ...]:
    names = ("run.json", "result.json", "segment.json")
    return Claim(folder / "claim").holder is not None, *(_stamp(folder / name) for name in names)


@st.cache_resource(max_entries=2000, show_spinner=False)
def _model(folder: str, stamp: tuple[object, ...]) -> StoredModel:
    return read_model(Path(folder))


@st.cache_resource(max_entries=200, show_spinner=False)
def _points(
    folder: str, stamps: tuple[tuple[int, int], ...], _model: StoredModel, _others: dict[str, StoredModel]
) -> Points:
    return _model.points(_others)


@st.cache_resource(max_entries=200, show_spinner="Reading the evaluations")
def _evaluations(
    folder: str, stamps: tuple[object, ...], done: bool, _model: StoredModel
) -> dict[str, LanguageModelEvaluation]:
    return _model.evaluations()
