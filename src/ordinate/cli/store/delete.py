"""`ordinate store delete`: comparisons and runs into the bin."""

from typer import Argument

from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.display import counted
from ordinate.core.errors import InputError


def run(
    names: list[str] = Argument(help="Comparisons, by name or first digits of the id, or ids of runs."),
    store: StoreFolder = RUNS,
) -> None:
    """Move comparisons or runs to the bin of the store. A comparison takes along the runs that no other one uses.

    `ordinate store restore` brings a comparison back. To free the space, delete the folder `bin` of the store.
    """
    from ordinate.store import open_store
    from ordinate.studies import study_store
    from ordinate.studies.bin import delete_runs, delete_study

    whole = open_store(store)
    for name in dict.fromkeys(names):
        if name and study_store.has(whole, name):
            kept = study_store.find(whole, name)
            count = delete_study(whole, kept)
            print(f"comparison {kept.study.id} and {counted(count, 'run')} are in the bin")
        elif name and any(run.id.startswith(name) for run in whole.runs()):
            run_id = whole.find(name).id
            delete_runs(whole, [run_id])
            print(f"run {run_id} is in the bin")
        else:
            raise InputError(f"no comparison and no run {name!r} in {store}: `ordinate list comparisons` names them")
