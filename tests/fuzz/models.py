"""Language models whose data or checkpoints were damaged after they had been made."""

import atexit
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

from ordinate.lm import hardware
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.config import Options, resolve
from ordinate.text.prepare import prepare
from ordinate.text.request import request
from ordinate.training import Progress
from ordinate.training.interruption import Interrupted

from .damage import damage

SETTINGS: dict[str, Any] = dict(dim=8, layers=1, heads=2, length=8, batch=2, warmup=1, vocabulary=260)
MODEL = ["--size", "nano", "-e", "rope", *(f"{key}={given}" for key, given in SETTINGS.items())]
DATA, BUDGETS, VALID = ["--data", "data/made"], (160, 320, 480), 16  # the last two are still to be done
ASKED = [*MODEL, *DATA, "--budget", ",".join(map(str, BUDGETS))]
TRAIN = ["lm", "train", *ASKED, "--valid-tokens", str(VALID), "--threads", "1"]
PREPARE = ["lm", "prepare", "text:text", "-o", "data/made", "--vocabulary", "260", "--valid", "0.1", "--workers", "0"]


@cache
def whole_model() -> Path:
    """A corpus, a model that was trained to one budget, and its trunk on the way to the next."""
    hardware.SECONDS = 0.0  # nobody waits for the speed of the machine to be measured
    folder = Path(mkdtemp(prefix="ordinate-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "text").mkdir()
    for number in range(60):
        (folder / "text" / f"{number}.txt").write_text(f"{number} is one more than {number - 1}\n")
    asked = request(f"text:{folder / 'text'}", vocabulary=260, valid=0.1)
    corpus = prepare(asked, folder / "data" / "made", workers=0)
    config, decay = resolve("nano", "rope", corpus.fingerprint, SETTINGS)
    options = Options(device="cpu", valid_tokens=VALID, log_every=1, save_every=0.0)
    training, steps = BranchedTraining(config, corpus, folder / "checkpoints", options), [0]

    def count(now: Progress) -> None:
        steps[0] += 1

    done, *_ = planned = branches(config, list(BUDGETS), decay)
    training.run([done], count)
    end = steps[0] + 3
    with suppress(Interrupted):
        training.run(planned, count, lambda: steps[0] >= end)
    return folder


def model(draw: Random, folder: Path) -> list[str]:
    """A command on a corpus and checkpoints of which up to three files are not what they were."""
    shutil.copytree(whole_model(), folder, dirs_exist_ok=True)
    unfinished = draw.random() < 0.2
    if unfinished:
        (folder / "data" / "made" / "manifest.json").unlink()
    parts = draw.choices(("data", "checkpoints", "text"), (5, 5, 1), k=draw.choice((1, 1, 2, 3)))
    files = {part: sorted(path for path in (folder / part).rglob("*") if path.is_file()) for part in parts}
    for path in {draw.choice(files[part]): part for part in parts}:
        damage(draw, path)
    if unfinished:
        return PREPARE
    tell = draw.choice(([], ["--json"]))
    return draw.choice(([*TRAIN, *tell], [*TRAIN, *tell], [*TRAIN, "--dry-run"], ["lm", "plan", *ASKED], PREPARE))
