"""Packs the studies of language models that come with the program: `python docs/lm_examples.py CHECKPOINTS DATA`.

Writes src/ordinate/lm_studies.zip: for every run of a finished comparison its evaluation, with documents summed up, and
a learning curve of a few points. Weights stay behind.
"""

import sys
from pathlib import Path

from ordinate.studies.lm import study_file
from ordinate.studies.lm.outcome import outcome
from ordinate.studies.lm.shipped import ARCHIVE, pack
from ordinate.studies.lm.stored_runs import Checkpoints
from ordinate.text.corpus import open_corpus


def build(root: Path, data: Path, archive: Path) -> None:
    """All comparisons whose runs are all done."""
    fingerprint, found = open_corpus(data).fingerprint, []
    for name in study_file.names():
        for part in study_file.load(name).parts:
            own = outcome(part.comparison(fingerprint), [Checkpoints(root)])
            print(f"{name}: {part.name}", "" if own.finished else f"is left out: {own.missing} runs are missing")
            if own.finished:
                found += [(own.comparison.runs[key], record) for key, record in own.records.items()]
    if not found:
        raise SystemExit("no comparison is finished: run a study first")
    print(f"{pack(found, archive)} runs, {archive.stat().st_size:,} bytes in {archive}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    build(Path(sys.argv[1]), Path(sys.argv[2]), ARCHIVE)
