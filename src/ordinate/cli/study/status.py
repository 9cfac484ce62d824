"""`ordinate study status`: how far a study has come."""

import json

from ordinate.cli.console import AtWork
from ordinate.cli.options import RUNS, AsJson, StoreFolder, StudyName


@AtWork("reading the results")
def run(study: StudyName, store: StoreFolder = RUNS, as_json: AsJson = False) -> None:
    """Print how many runs of each comparison are done."""
    from ordinate.store import open_store
    from ordinate.studies.study_file import load
    from ordinate.studies.study_run import progress

    runs = open_store(store)
    runs.check_place()
    rows = progress(load(study), runs)
    if as_json:
        print(json.dumps([vars(row) for row in rows], indent=1))
        return
    width = max(len(row.part) for row in rows)
    for row in rows:
        bound = "" if row.stage == "done" else " at least" if row.stage == "learning rates" else ""
        print(f"{row.part.ljust(width)}  {row.done} of{bound} {row.runs} runs  {row.stage}")
