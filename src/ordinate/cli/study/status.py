"""`ordinate study status`: how far a study has come."""

import json
from pathlib import Path

from ordinate.cli.console import AtWork
from ordinate.cli.lm.request import CHECKPOINTS, Data, Root
from ordinate.cli.options import RUNS, AsJson, StoreFolder, StudyName
from ordinate.cli.study import language_models


@AtWork("reading the results")
def run(
    study: StudyName,
    store: StoreFolder = RUNS,
    data: Data = None,
    root: Root = CHECKPOINTS,
    as_json: AsJson = False,
) -> None:
    """Print how many runs of each comparison are done."""
    if language_models.is_of_language_models(study, store, data, root):
        rows = language_models.status(study, data, root)
    else:
        rows = _status(study, store)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    width = max(len(str(row["part"])) for row in rows)
    for row in rows:
        bound = " at least" if row["stage"] == "learning rates" else ""
        print(f"{str(row['part']).ljust(width)}  {row['done']} of{bound} {row['runs']} runs  {row['stage']}")


def _status(study: str, store: Path) -> list[dict[str, str | int]]:
    from ordinate.store import open_store
    from ordinate.store.examples import open_examples
    from ordinate.studies.study_file import load
    from ordinate.studies.study_run import progress

    runs = open_store(store)
    runs.check_place()
    return [vars(row) for row in progress(load(study), runs, open_examples())]
