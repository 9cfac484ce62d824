"""Results of studies of language models that come with the program: one small JSON document for each run."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from ordinate.core.errors import InputError
from ordinate.results.lm_record import LanguageModelRecord
from ordinate.results.serialize import read, write
from ordinate.studies.lm.comparison import ModelRun

ARCHIVE = Path(__file__).parents[2] / "lm_studies.zip"
DIGITS = 7  # of a number
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same results give the same archive


@dataclass(frozen=True)
class Shipped:
    """An archive of records, by what was run rather than by the text it was run on."""

    archive: Path = ARCHIVE

    def find(self, run: ModelRun) -> LanguageModelRecord | None:
        content = _contents(self.archive).get(run.key)
        return None if content is None else _record(content, self.archive)


def pack(records: Iterable[tuple[ModelRun, LanguageModelRecord]], archive: Path) -> int:
    """Write an archive; returns how many records it has."""
    contents = {run.key: _short(write(record)) for run, record in records}
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=9) as file:
        for key, content in sorted(contents.items()):
            file.writestr(ZipInfo(f"{key}.json", EPOCH), json.dumps(content, separators=(",", ":")), ZIP_DEFLATED)
    return len(contents)


@cache
def _contents(archive: Path) -> dict[str, Any]:
    if not archive.exists():
        return {}
    try:
        with ZipFile(archive) as file:
            return {Path(name).stem: json.loads(file.read(name)) for name in file.namelist()}
    except (OSError, BadZipFile, ValueError) as error:
        raise InputError(f"{archive} cannot be read ({error}): install ordinate again") from error


def _record(content: Any, archive: Path) -> LanguageModelRecord:
    try:
        return read(LanguageModelRecord, content, "record")
    except ValueError as error:
        raise InputError(f"{archive} is damaged ({error}): install ordinate again") from error


def _short(value: Any) -> Any:
    """With fewer digits, wherever there are numbers."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
