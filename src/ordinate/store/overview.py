"""The runs of a store at a glance: what each is, how far it has come, and what came out."""

import time
from typing import Any

from ordinate.core.errors import InputError, told
from ordinate.statistics.observations import headline, range_name
from ordinate.statistics.words import words_of
from ordinate.store.files import refuse_link, regular
from ordinate.store.run import Run
from ordinate.store.store import Store
from ordinate.store.table import Row, RowCache

ROWS = 3  # raised when `describe` says something else
# Words with a score to report out of distribution: those of runs that learned the task; none where loss is the score.
REPORTED = ("solves", "partial", "fits", "")


def overview(store: Store, known: RowCache) -> tuple[list[Row], dict[str, str]]:
    """A row for each run, oldest first; and of each run that is damaged, what is wrong with it."""
    rows, damaged = [], {}
    for run in store.lost():
        damaged[run.id] = f"{run.folder} is damaged (it has no config.json): move it away"
    for run in store.runs():
        try:
            refuse_link(run.folder)
            rows.append(known.row(run, describe))
        except (InputError, OSError) as error:
            damaged[run.id] = told(error)  # one such run must not hide the others
    return rows, damaged


def describe(run: Run) -> Row:
    """One run as plain data."""
    config, state = run.config, run.state
    row = {
        "run": run.id, "task": config["task"], "encoding": encoding_name(config),
        "seed": config["seed"], "rules": config.get("rules", 1), "state": state, "steps": config["steps"],
        "inside": None, "outside": [], "rate": config["lr"], "started": _started(run),
    }  # fmt: skip
    if state != "done":
        return row | {"step": run.step, "error": run.error}
    result = run.result
    words = words_of(result["evaluation"], result["bar"], result["status"] == "diverged")
    inside = [r for r in result["evaluation"] if r["split"] == "id"]
    judged = [row | {"verdict": word or ""} for row, word in zip(result["evaluation"], words, strict=True)]
    outside = [row for row in judged if row["split"] in ("ood", "shift")]
    at = headline([(r["split"], r["length"]) for r in judged if r["split"] != "valid"])
    shown = next(r for r in judged if (r["split"], r["length"]) == at)
    return row | {
        "state": "diverged" if result["status"] == "diverged" else "done",
        "step": result["steps"],
        "inside": inside[-1]["score"],
        "outside": [{k: r.get(k, "") for k in ("split", "length", "score", "verdict")} for r in outside],
        "headline": range_name(*at), "score": shown["score"] if shown["verdict"] in REPORTED else None,
        "word": str(shown["verdict"]),
        "learned_at": result["learned_at"], "seconds": result["timing"]["seconds"],
    }  # fmt: skip


def encoding_name(config: dict[str, Any]) -> str:
    """The encoding of a run's configuration; several if its layers differ."""
    encoding = config["model"]["encoding"]
    return encoding if isinstance(encoding, str) else ", ".join(encoding)


def _started(run: Run) -> str:
    """When the run began: its log says so, even if its files were copied since."""
    try:
        with open(run.folder / "log.txt", encoding="utf-8", errors="replace", opener=regular) as file:
            first = file.readline()[:19]
        time.strptime(first, "%Y-%m-%d %H:%M:%S")
        return first
    except (OSError, ValueError):
        written = (run.folder / "config.json").stat().st_mtime
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(written))
