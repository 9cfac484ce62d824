"""A store of 10,000 finished runs: how long it takes to list it, and to report on it."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Row
from ordinate.core.config import to_dict
from ordinate.store import open_store
from ordinate.store.documents import content_sum
from ordinate.studies import study_store
from ordinate.studies.arm import Arm
from ordinate.studies.plan import Study, plan
from ordinate.studies.study_state import StudyState
from ordinate.training import train

TASKS = ("k_back", "shift_pattern", "first_last", "modular_sum", "binary_majority")
ENCODINGS = ("none", "sinusoidal", "learned(rows=200)", "rope", "alibi", "t5", "fire", "xpos", "cope", "shaw")
SETTINGS = dict(dim=8, heads=2, layers=1, steps=10, batch=4, evaluation_sequences=50)


def fill(folder: Path, runs: int, tasks: Sequence[str], encodings: Sequence[str]) -> Study:
    """A study of this many runs, of which one per task and encoding is real and the others are like it."""
    seeds = runs // (len(tasks) * len(encodings))
    study = plan(tasks, encodings, seeds=seeds, settings={**SETTINGS, "lr": 0.001})
    store = open_store(folder)
    study_store.save(store, study, "ordinate compare")
    state = StudyState(study, store)
    for task, encoding, base in study.bases:
        arm = Arm(task, encoding, base, None)
        real = train(state.config(arm, 1, base.lr), store)
        result = json.loads((real.folder / "result.json").read_text())
        del result["sum"]
        for seed in range(2, seeds + 1):
            config = state.config(arm, seed, base.lr)
            folder_of_run = store.run(config.id).folder
            folder_of_run.mkdir()
            (folder_of_run / "config.json").write_text(json.dumps(to_dict(config)))
            for name in ("env.json", "metrics.jsonl"):
                shutil.copyfile(real.folder / name, folder_of_run / name)
            content = {**result, "run": config.id}
            (folder_of_run / "result.json").write_text(json.dumps({**content, "sum": content_sum(content)}))
    return study


def seconds(*arguments: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "ordinate", *arguments], check=True, capture_output=True)
    return time.perf_counter() - begin


def run(rounds: int = 3, tiny: bool = False) -> dict[str, list[Row]]:
    runs, tasks, encodings = (6, TASKS[-1:], ENCODINGS[:2]) if tiny else (10_000, TASKS, ENCODINGS)
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name), runs, tasks, encodings)
        listing = [seconds("status", "--store", name) for _ in range(rounds + 1)]
        report = [seconds("report", "--store", name) for _ in range(rounds)]
        usage = [seconds("--help") for _ in range(rounds + 2)]
    rows = [
        Row("ordinate --help", "seconds", min(usage), min(usage), max(usage), "<= 0.4"),
        Row(f"list {runs:,} runs, first time", "seconds", listing[0], listing[0], listing[0]),
        Row(f"list {runs:,} runs", "seconds", min(listing), min(listing), max(listing), "<= 2"),
        Row(f"report on {runs:,} runs", "seconds", min(report), min(report), max(report), "<= 20"),
    ]
    return {f"A store of {runs:,} finished runs (seconds, whole commands)": rows}
