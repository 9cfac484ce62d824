"""Stores in which something was damaged after a comparison had been made there."""

import atexit
import json
import os
import shutil
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from ordinate.store import Store
from ordinate.store.pack import MANIFEST, pack
from ordinate.studies.compare import compare
from ordinate.training import Progress, baselines, checkpoint, resolve, train, trainer

from .damage import JSON, changed, damage, damaged, tensors_in

TASK = "k_back(k=1,vocabulary=4)"
SETTINGS: dict[str, Any] = dict(
    dim=8, heads=2, layers=1, steps=8, batch=8, train_lengths=[4, 6], ood_lengths=[8], evaluation_sequences=20, lr=0.01
)
PAIRS = [f"{key}={given}".replace(" ", "") for key, given in SETTINGS.items()]
UNFINISHED = ["train", TASK, "-e", "t5", *PAIRS]
COMPARED = ["compare", TASK, "-e", "rope,learned(rows=6)", "--seeds", "2", "--workers", "0", "--yes", *PAIRS]
UNPACK = ["store", "unpack", "all.zip", "--store", "new"]
NAMES = ("/etc/x", "../x", "a/../../x", "C:\\x", "a\nb", "a" * 300, "/", "x/", ".", "\u202ex", "con", "a//b")


@cache
def whole() -> Path:
    """A store with a finished comparison and a run that was interrupted; the folder lives as long as the process."""
    folder = Path(mkdtemp(prefix="ordinate-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    baselines.SEQUENCES = 200
    compare(TASK, "rope,learned(rows=6)", seeds=2, store=folder, workers=0, **SETTINGS)

    def interrupt(progress: Progress) -> None:
        if progress.step == 4:
            raise KeyboardInterrupt

    trainer.SAVE_EVERY, usual = -1.0, trainer.SAVE_EVERY
    try:
        train(resolve(SETTINGS | dict(task=TASK, encoding="t5")), Store(folder), interrupt)
    except KeyboardInterrupt:
        trainer.SAVE_EVERY = usual
    return folder


def store(draw: Random, folder: Path) -> list[str]:
    """A command on a store of which up to three files are not what they were."""
    shutil.copytree(whole(), folder / "runs")
    files = sorted(path for path in (folder / "runs").rglob("*") if path.is_file())
    for path in draw.sample(files, draw.choice((1, 1, 2, 3))):
        damage(draw, path)
    if draw.random() < 0.05:
        elsewhere(draw.choice(sorted(path for path in (folder / "runs").rglob("*") if path.is_dir())), folder)
    form = draw.choice(("html", "md", "csv", "tex", "json"))
    commands = (["status"], ["status", "--json"], ["report"], ["report", "--format", form], UNFINISHED, COMPARED)
    (study,) = (whole() / "studies").iterdir()
    checks = (["store", "check"], ["store", "check", "--json"], ["store", "check", "--repair"])
    packs = (["store", "pack", "all.zip"], ["store", "pack", "-"], ["store", "pack", "one.zip", study.name])
    return draw.choice((*commands, *commands, *checks, *packs))


def elsewhere(path: Path, folder: Path) -> None:
    """A link in place of a folder, to where it went."""
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")


@cache
def packed() -> bytes:
    with TemporaryDirectory() as folder:
        pack(Store(whole()), Path(folder) / "all.zip")
        return (Path(folder) / "all.zip").read_bytes()


def archive(draw: Random, folder: Path) -> list[str]:
    """Unpacking what is not what it was: other bytes, or another archive with whatever in it."""
    path = folder / "all.zip"
    path.write_bytes(packed())
    if draw.random() < 0.4:
        path.write_bytes(damaged(draw, packed()))
        return UNPACK
    with ZipFile(path) as old:
        entries = {part.filename: old.read(part) for part in old.infolist()}
    for _ in range(draw.choice((1, 2))):
        name = draw.choice(list(entries))
        match draw.randrange(4):
            case 0:
                entries[draw.choice(NAMES)] = entries.pop(name)
            case 1:
                entries[name] = damaged(draw, entries[name])
            case 2:
                del entries[name]
            case _:
                entries[MANIFEST] = json.dumps(changed(draw, json.loads(packed_manifest()), JSON)).encode()
    with ZipFile(path, "w", draw.choice((ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2))) as new:
        for name, content in entries.items():
            part = ZipInfo(name)
            part.external_attr = draw.choice((0, 0, 0o100644, 0o120777, 0o010644)) << 16
            new.writestr(part, content)
    return UNPACK


@cache
def packed_manifest() -> bytes:
    with ZipFile(BytesIO(packed())) as archive:
        return archive.read(MANIFEST)


def saved(draw: Random, folder: Path) -> list[str]:
    """Going on with a run whose checkpoint is not what it was."""
    shutil.copytree(whole(), folder / "runs")
    (path,) = (folder / "runs").glob(f"*/{checkpoint.NAME}")
    if draw.random() < 0.2:
        path.write_bytes(damaged(draw, path.read_bytes()))
    elif draw.random() < 0.05:
        path.unlink()
        os.mkfifo(path)
    else:
        tensors_in(draw, path)
    return UNFINISHED
