"""`ordinate store check`: whether all of a store can be read, and setting aside what cannot."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Option

from ordinate.cli.console import AtWork, say
from ordinate.cli.options import RUNS, AsJson, StoreFolder
from ordinate.core.display import counted
from ordinate.core.errors import InputError, error_text

if TYPE_CHECKING:
    from ordinate.store import Store
    from ordinate.store.check import Fault


@AtWork("reading every file of the store")
def run(
    repair: bool = Option(
        False, "--repair", help="Move damaged files to STORE/damaged, remove leftovers of dead processes."
    ),
    store: StoreFolder = RUNS,
    as_json: AsJson = False,
) -> None:
    """Read every file of every run and study. The exit code is 1 if any is damaged."""
    from ordinate.store import open_store
    from ordinate.studies.check import faults, studies

    if not store.is_dir():
        raise InputError(f"there is no folder {store} to check: name one with --store")
    runs = open_store(store)
    found = list(faults(runs))
    damaged = [fault for fault in found if not fault.leftover and not fault.other]
    report: dict[str, Any] = {
        "runs": len(runs.runs()),
        "studies": len(studies(runs)),
        "damaged": [{"path": str(fault.path), "problem": fault.problem} for fault in damaged],
        "leftovers": [str(fault.path) for fault in found if fault.leftover],
        "others": [{"path": str(fault.path), "problem": fault.problem} for fault in found if fault.other],
    }
    if repair:
        report |= _repaired(runs, found)
    if as_json:
        print(json.dumps(report, indent=1))
    else:
        say(*_lines(report, runs.option))
    if damaged:
        raise typer.Exit(1)


def _repaired(store: "Store", found: "list[Fault]") -> dict[str, Any]:
    """Move damaged runs and studies aside; report each move and the command that runs it again."""
    from ordinate.store.check import set_aside
    from ordinate.studies.check import ways_back

    damaged = [fault.path for fault in found if not fault.leftover and not fault.other]
    ways = ways_back(store, damaged)
    moved: dict[str, str] = {}
    stayed: dict[Path, str] = {}
    for path in damaged:
        try:
            if target := set_aside(store, path):
                moved[str(path)] = str(target)
            else:
                stayed[path] = "another process works on it"
        except (InputError, OSError) as error:  # go on with the others
            stayed[path] = error_text(error)
    for path in (fault.path for fault in found if fault.leftover):
        try:
            _remove(store, path)
            if os.path.lexists(path):
                stayed[path] = "another process may work there"
        except (InputError, OSError) as error:
            stayed[path] = error_text(error)
    for path, why in stayed.items():
        say(f"ordinate: {path} was left where it is: {why}", stderr=True)
    gone = {Path(path).name for path in moved}
    again = {command: ours for command, ids in ways.items() if (ours := [name for name in ids if name in gone])}
    return {"moved": moved, "again": again, "stayed": {str(path): why for path, why in stayed.items()}}


def _remove(store: "Store", path: Path) -> None:
    """Remove a leftover of a process that died, unless another process works there."""
    from ordinate.store import Run
    from ordinate.store.claim import Claim
    from ordinate.store.store import is_id

    if is_id(path.parent.name) and path.parent.parent == store.folder:
        Run(path.parent).tidy()
    elif path.name == "driver":
        Claim(path).clear()
    else:
        path.unlink(missing_ok=True)


def _lines(report: dict[str, Any], option: str) -> list[str]:
    """The damaged files, and what was done about them; `option` names the store."""
    lines = [
        f"{counted(report['runs'], 'run')} and {counted(report['studies'], 'study')}: {len(report['damaged'])} damaged"
    ]
    lines += [f"  {item['problem']}" for item in report["damaged"]]
    if report["others"]:
        first = report["others"][0]["problem"]
        lines.append(f"sound, but of no use to this program: {len(report['others'])}; the first: {first}")
    if report["leftovers"]:
        gone = [path for path in report["leftovers"] if path not in report.get("stayed", {})]
        done = f"{len(gone)} removed" if "moved" in report else "removed by --repair"
        lines.append(f"left by processes that died: {counted(len(report['leftovers']), 'file')}; harmless, {done}")
    if "moved" not in report:
        repair = f"set aside what is damaged with  ordinate store check --repair{option}"
        return [*lines, repair] if report["damaged"] else lines
    lines += [f"moved {path} to {target}" for path, target in report["moved"].items()]
    return lines + [f"{', '.join(ids)} will be done again by  {command}" for command, ids in report["again"].items()]
