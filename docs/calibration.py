"""What the usual encodings do on every task at its defaults: `python docs/calibration.py STORE`, after comparisons.

Keeps three seeds of each task and encoding in calibration.json, and writes CALIBRATION.md from that file alone.
"""

import json
import sys
from pathlib import Path
from statistics import mean
from typing import Any

from ordinate import encodings, tasks
from ordinate.report.words import reach_words, steps_words
from ordinate.statistics.headline import headline, trained_length
from ordinate.statistics.observation import range_name
from ordinate.statistics.reach import Reach, Steps, reach
from ordinate.training import resolve

HERE = Path(__file__).parent
RUNS, PAGE = HERE / "calibration.json", HERE / "CALIBRATION.md"
SEEDS = (1, 2, 3)

HEAD = """# Calibration

Every task at its defaults, with the usual encodings, three seeds each: how many seeds learned it, after how many steps
(median and range), how far what was learned holds in multiples of the trained length (median and range), and the mean
score on the range that comparisons test. Where the rates of a table differ, a comparison chose each on its pilot seed;
otherwise one rate was given. A task is calibrated if some encoding learns it in every seed; tasks scored by their loss
are never learned, so they are not here. Budgets are about twice what the slower of the learners need.

Written by `python docs/calibration.py` from the runs in `calibration.json`; a test checks that both are up to date.
"""


def keep(store: Path) -> None:
    """Copy what the comparisons of a store say; a task that is not there keeps its old runs."""
    from ordinate.store import open_store
    from ordinate.studies import shelf
    from ordinate.studies.state import State

    opened = open_store(store)
    rows = {_key(row): row for row in json.loads(RUNS.read_text())} if RUNS.exists() else {}
    for name in shelf.names(opened):
        state = State(shelf.find(opened, name).study, opened)
        for arm in state.arms():
            if arm.task not in tasks.names() or arm.encoding not in wanted(arm.task):
                continue
            for seed in SEEDS:
                config = state.config(arm, seed, arm.rate)
                result = state.result(config)
                if result and config.id == default(arm.task, arm.encoding, seed, arm.rate):
                    row = _row(config.id, arm.task, arm.encoding, seed, arm.rate, arm.base.steps, result)
                    rows[_key(row)] = row
    RUNS.write_text("[\n" + ",\n".join(json.dumps(rows[key]) for key in sorted(rows)) + "\n]\n")


def _key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["task"], row["encoding"], row["seed"]


def _row(
    run: str, task: str, encoding: str, seed: int, lr: float, budget: int, result: dict[str, Any]
) -> dict[str, Any]:
    scores = [[row["split"], row["length"], row["score"]] for row in result["evaluation"] if row["split"] != "valid"]
    return {
        "task": task, "encoding": encoding, "seed": seed, "lr": lr, "run": run, "bar": result["bar"], "budget": budget,
        "learned_at": result["learned_at"], "steps": result["steps"], "scores": scores,
    }  # fmt: skip


def page() -> str:
    """The document, from the kept runs."""
    rows = json.loads(RUNS.read_text())
    parts = [HEAD]
    for name in tasks.names():
        mine = [row for row in rows if row["task"] == name]
        if mine:
            parts.append(_table(name, mine))
    return "\n".join(parts)


def _table(name: str, rows: list[dict[str, Any]]) -> str:
    task = tasks.create(name)
    places = [(split, length) for split, length, _ in rows[0]["scores"]]
    at, scored = headline(places), rows[0]["bar"] is not None
    budget = f"at most {rows[0]['budget']} steps" if scored else f"{rows[0]['budget']} steps"
    low, high = task.train_lengths
    about = f"Trained at {f'lengths {low} to {high}' if low < high else f'length {high}'}, {budget}."
    columns = ["encoding", "learned", "steps to learn", "reach", range_name(*at), "rate"]
    lines = [f"| {' | '.join(columns)} |", "|---|---:|---:|---:|---:|---:|"]
    for encoding in sorted({row["encoding"] for row in rows}, key=lambda e: (_rank(rows, e), e)):
        mine = sorted((row for row in rows if row["encoding"] == encoding), key=lambda row: row["seed"])
        lines.append(f"| {' | '.join(_cells(encoding, mine, at, trained_length(places)))} |")
    missing = [encoding for encoding in wanted(name) if all(row["encoding"] != encoding for row in rows)]
    lines += ["", f"Not run: {', '.join(missing)}."] if missing else []
    return "\n".join([f"## {name}", "", *([task.control] if task.control else []), about, "", *lines, ""])


def _cells(encoding: str, rows: list[dict[str, Any]], at: tuple[str, int], trained: int | None) -> list[str]:
    scores = [score for row in rows for split, length, score in row["scores"] if (split, length) == at]
    known = [score for score in scores if score is not None]
    shown, rate = f"{mean(known):.3f}" if known else "out of range", f"{rows[0]['lr']:g}"
    if rows[0]["bar"] is None:
        return [encoding, "", "", "", shown, rate]
    reached = [_reach(row, trained or 1) for row in rows]
    learned = sum(far is not None for far in reached)
    steps = Steps(tuple(row["learned_at"] for row in rows), rows[0]["budget"])
    words = reach_words(Reach(tuple(reached), max(length for _, length, _ in rows[0]["scores"]) / (trained or 1)))
    return [encoding, f"{learned} of {len(rows)}", steps_words(steps), words, shown if learned else "-", rate]


def _reach(row: dict[str, Any], trained: int) -> float | None:
    along = [(length, score) for split, length, score in row["scores"] if split in ("id", "ood")]
    return reach(along, row["bar"], trained) or None


def _rank(rows: list[dict[str, Any]], encoding: str) -> float:
    """The fastest learner first; by the score where there is nothing to learn."""
    mine = [row for row in rows if row["encoding"] == encoding]
    if mine[0]["bar"] is None:
        return mean(row["scores"][0][2] for row in mine)
    return mean(row["learned_at"] or 10 * row["budget"] for row in mine)


def default(task: str, encoding: str, seed: int, lr: float) -> str:
    """The run of a task at its defaults."""
    return resolve({"task": task, "encoding": encoding, "seed": seed, "lr": lr}).id


def wanted(name: str) -> list[str]:
    """The encodings that a task is calibrated with; one that is scored by its loss is never learned."""
    task = tasks.create(name)
    return [] if task.metric == "loss" else encodings.usual(task.axes)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    PAGE.write_text(page())
