"""Packs the comparisons that come with the program: `python docs/examples.py STORE [STORE ...]`, after they were run.

Writes src/ordinate/examples.zip: what reports and the app read of finished runs, one attention map for each task and
encoding, and what probes found of the runs (`ordinate study probe NAME` stores it). Weights, checkpoints and journals
stay behind, and so does what tells of the place they were run in.
Finished runs of comparisons under way come along: `ordinate study run` goes on in a store they are unpacked to.
"""

import re
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from os import utime
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import save

from ordinate.probes import records
from ordinate.probes.layer_measures import LayerMeasures
from ordinate.probes.run_probe import RunProbe
from ordinate.report.chart import thin
from ordinate.results.comparison import Comparison
from ordinate.results.run_result import RunResult
from ordinate.results.serialize import write
from ordinate.store import Run, Store, open_store
from ordinate.store.documents import write_document
from ordinate.store.examples import ARCHIVE
from ordinate.store.files import write_json
from ordinate.store.pack import pack
from ordinate.store.sums import file_sums
from ordinate.studies import study_file, study_store
from ordinate.studies.collect import collect
from ordinate.studies.plan import Study
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState

POINTS = 60  # of a learning curve
DIGITS = 6  # of a number


@dataclass(frozen=True)
class Asked:
    """A comparison as somebody would ask for it today."""

    task: str
    study: Study
    command: str
    title: str


def candidates() -> list[Asked]:
    """All parts of all studies; those under our own rules come last, and are shown first."""
    found = [
        (bool(part.settings), title != FIRST, Asked(",".join(part.tasks), part.study, part.command, title))
        for name in study_file.names()
        for study in (study_file.load(name),)
        for part in study.parts
        for title in (study.title_of(part),)
    ]
    return [asked for _, _, asked in sorted(found, key=lambda item: item[:2], reverse=True)]


FIRST = "s4-k-back: fair"


class Watched(Store):
    """A store that notes which runs it was asked for: a comparison reads those that it needs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: dict[str, Run] = {}

    def run(self, run_id: str) -> Run:
        return self.asked.setdefault(run_id, super().run(run_id))


def build(stores: Iterable[Path], archive: Path) -> None:
    """Copy what is needed of each finished comparison, from the first store that has all of it, and pack that."""
    with tempfile.TemporaryDirectory() as folder:
        small = open_store(folder)
        finished = [(asked, found) for asked in candidates() if (found := find(asked, stores))]
        for number, (asked, (whole, source)) in enumerate(finished):
            for run in source.asked.values():
                if run.done and not small.run(run.id).folder.exists():
                    copy(run, small, first=run.id in _first(whole))
            kept = study_store.save(small, asked.study, asked.command, asked.title)
            for folder in (kept.folder, *(small.run(name).folder for name in source.asked)):
                for path in folder.glob("*"):
                    utime(path, (number, number))  # stores are read by age
            if str(collect(StudyState(asked.study, small), asked.command)) != str(whole):
                raise SystemExit(f"{asked.command} says something else once it is packed")
            print(f"{asked.study.id}  {asked.title}")
        begun = _begun(stores, small)
        print(f"{begun} runs of comparisons that are not finished")
        pack(small, archive)
    print(f"{archive.stat().st_size:,} bytes in {archive}")


def _begun(stores: Iterable[Path], small: Store) -> int:
    """Copy the finished runs that no finished comparison has, and count them."""
    count = 0
    for asked in candidates():
        for source in map(Watched, stores):
            next_stage(StudyState(asked.study, source))  # asks for all that it needs so far
            for run in source.asked.values():
                if run.done and not small.run(run.id).folder.exists():
                    copy(run, small, first=False)
                    count += 1
    return count


def find(asked: Asked, stores: Iterable[Path]) -> tuple[Comparison, Watched] | None:
    """A comparison whose runs are all done, and the store that was asked for them."""
    for folder in stores:
        source = Watched(folder)
        state = StudyState(asked.study, source)
        if not next_stage(state).missing:
            return collect(state, asked.command), source
    return None


def _first(comparison: Comparison) -> set[str]:
    """The runs whose attention is drawn."""
    return {profile.attention.parent.name for profile in comparison.profiles if profile.attention}


def copy(run: Run, store: Store, *, first: bool) -> None:
    """One run, without what no reader asks for."""
    target = store.run(run.id).folder
    target.mkdir()
    platform = re.sub(r"(?<=\d)-.*?(?=-x86_64|-aarch64|-arm64)", "", run.machine.platform)
    started = (run.folder / "log.txt").read_text().partition("\n")[0]
    (target / "log.txt").write_text(started + "\n")
    write_json(target / "config.json", run.config, indent=None)
    write_document(target / "env.json", replace(run.machine, platform=platform, git=None))
    if first:
        (target / "attention.safetensors").write_bytes(attention(run.folder / "attention.safetensors"))
    if layers := records.stored(LayerMeasures, run):
        records.remember(layers, store.run(run.id))
    if probe := records.stored(RunProbe, run):
        records.remember(records.small(probe), store.run(run.id))
    write_document(target / "result.json", _short(write(replace(result(run.result), files=file_sums(target)))))


def result(whole: RunResult) -> RunResult:
    """With learning curves in the loss and in the task's metric alone, at most so many points each."""
    curves = []
    for metric in sorted({"loss", whole.metric}):
        points = [r for r in whole.records if r.split == "valid" and r.metric == metric]
        curves += [points[at] for at in thin(len(points), POINTS)]
    return replace(whole, records=tuple(curves))


def _short(value: Any) -> Any:
    """With fewer digits, wherever there are numbers."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def attention(path: Path) -> bytes:
    """The first example alone, in half precision: pictures show no more."""
    with safe_open(path, "numpy") as file:
        kept = {name: file.get_tensor(name)[:1] for name in sorted(file.keys())}
        halves = {name: v.astype("float16") if name.startswith("layer_") else v for name, v in kept.items()}
        return bytes(save(halves, file.metadata()))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    build([Path(name) for name in sys.argv[1:]], ARCHIVE)
