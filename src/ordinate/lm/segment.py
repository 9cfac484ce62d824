"""What a process that trains in a folder is about to do, for those who watch it."""

from dataclasses import dataclass
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.results.serialize import read, write
from ordinate.store.files import read_json, write_json

NAME = "segment.json"


@dataclass(frozen=True)
class SegmentBounds:
    """Steps of a trunk or a branch: from where the process began, or went on, to where it stops."""

    begin: int
    end: int


def announce(folder: Path, segment: SegmentBounds) -> None:
    """Replace what was said before."""
    write_json(folder / NAME, write(segment))


def segment_of(folder: Path) -> SegmentBounds | None:
    """None if nothing was said, or not so that it can be read: nothing depends on it."""
    try:
        return read(SegmentBounds, read_json(folder / NAME), "segment")
    except (InputError, ValueError, OSError):
        return None
