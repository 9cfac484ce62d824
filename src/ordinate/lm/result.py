"""Reading the result of a token budget."""

import os
from pathlib import Path

from ordinate.results.language_model_result import LanguageModelResult
from ordinate.store.documents import read_document


def result_of(folder: Path) -> LanguageModelResult | None:
    """None if training is not done. A damaged result is named; the checkpoint beside it can make it again."""
    path = folder / "result.json"
    return read_document(LanguageModelResult, path, "result") if os.path.lexists(path) else None
