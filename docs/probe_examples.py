"""Probes the comparisons that come with the program: `python docs/probe_examples.py STORE [START ...]`.

Weights do not ship, so the run that speaks for each encoding is trained again where STORE has none: the same
configuration gives the same model. STARTs choose comparisons by how their titles begin, as in "s4-k-back: fair". Then
docs/examples.py packs the records with the runs.
"""

import sys
from pathlib import Path

from ordinate.probes.records import remember, stored, whole_probe
from ordinate.probes.run_probe import RunProbe
from ordinate.probes.trained_run import WEIGHTS
from ordinate.store import Run, Store, open_store
from ordinate.studies import study_file
from ordinate.studies.collect import collect
from ordinate.studies.probed_study import runs_that_speak
from ordinate.studies.study_state import StudyState
from ordinate.training import train
from ordinate.training.config import rebuild

SCRATCH = ".trained-again"  # a store inside STORE, with the weights


def probe(run: Run, scratch: Store) -> None:
    """From its weights, else from those of the same run trained again, if it scores the same."""
    if (run.folder / WEIGHTS).exists():
        whole_probe(run)
        return
    again = train(rebuild(dict(run.config)), scratch)
    one, other = run.result.in_distribution.score, again.result.in_distribution.score
    if one is None or other is None or abs(one - other) > 0.02:
        print(f"{run.id} scores {other} when trained again, and {one} before: left out")
        return
    remember(whole_probe(again), run)


def main(folder: Path, starts: list[str]) -> None:
    store, scratch = open_store(folder), open_store(folder / SCRATCH)
    for name in study_file.names():
        study = study_file.load(name)
        for part in study.parts:
            title = study.title_of(part)
            if starts and not any(title.startswith(start) for start in starts):
                continue
            comparison = collect(StudyState(part.study, store), part.command)
            for task in comparison.analysis.tasks:
                for encoding, run in runs_that_speak(comparison, store, task.task).items():
                    if stored(RunProbe, run) is None:
                        print(f"{title}: {task.task}, {encoding}, {run.id}", flush=True)
                        probe(run, scratch)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
