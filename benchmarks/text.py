"""Text to measure on: some of Python's standard library."""

import sysconfig
from pathlib import Path


def write_text(folder: Path, characters: int) -> Path:
    """Files of the standard library, in the order of their names, until there are so many characters."""
    folder.mkdir(parents=True)
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        size += (folder / path.name).write_bytes(path.read_bytes())
        if size > characters:
            break
    return folder
