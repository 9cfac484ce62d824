"""The picture of compare.md: `python docs/picture.py` draws it from demo.json alone.

`python docs/picture.py runs`, after `make demo`, first copies the scores of that comparison to demo.json.
"""

import io
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from ordinate.report.terminal import show
from ordinate.statistics.analyze import analyze
from ordinate.statistics.learning import Steps, TrainingEnd
from ordinate.statistics.observations import Observation
from ordinate.statistics.types import ArmFacts, StudyFacts
from ordinate.statistics.words import Word

HERE = Path(__file__).parent
SCORES, PICTURE = HERE / "demo.json", HERE / "compare.svg"
MAKEFILE = (HERE.parent / "Makefile").read_text()
COMMAND = re.findall(r"\$\(BIN\)/(ordinate compare .*)", MAKEFILE)[0].replace("$$", "$")


def keep(store: str) -> None:
    """Copy the scores of the store's last comparison."""
    from ordinate.store import open_store
    from ordinate.studies import study_store
    from ordinate.studies.stages import seeds_to_report
    from ordinate.studies.study_analysis import facts, observations, steps_of
    from ordinate.studies.study_state import StudyState

    kept = study_store.find(open_store(store))
    state = StudyState(kept.study, open_store(store))
    seeds = seeds_to_report(state)
    steps = steps_of(state, seeds)
    content = {
        "command": COMMAND,
        "preliminary": kept.study.relaxed,
        "study": {task: asdict(own) for task, own in facts(state, seeds, steps, kept.command).items()},
        "steps": {task: {e: asdict(s) for e, s in own.items()} for task, own in steps.items()},
        "observations": [asdict(item) for item in observations(state, seeds) if item.split != "valid"],
    }
    SCORES.write_text(json.dumps(content, indent=0) + "\n")


def draw() -> str:
    """What the command printed, as a picture."""
    content = json.loads(SCORES.read_text())
    study = {
        task: StudyFacts(own["done"], own["runs"], tuple(ArmFacts(**arm) for arm in own["arms"]), longer=own["longer"])
        for task, own in content["study"].items()
    }
    steps = {
        task: {encoding: _steps(own) for encoding, own in table.items()} for task, table in content["steps"].items()
    }
    scores = [Observation(**item) for item in content["observations"]]
    found = analyze(scores, study=study, steps=steps, preliminary=content["preliminary"])
    console = Console(record=True, width=126, highlight=False, markup=False, file=io.StringIO(), force_terminal=True)
    console.print(f"$ {content['command']}", style="green")
    show(found, console)
    picture = console.export_svg(title="ordinate", unique_id="ordinate")
    # the picture must not ask the network for a font
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")


def _steps(own: dict[str, Any]) -> Steps:
    ends = (TrainingEnd(**end | {"word": Word(end["word"])}) for end in own["ends"])
    return Steps(tuple(ends), own["budget"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(sys.argv[1])
    PICTURE.write_text(draw())
