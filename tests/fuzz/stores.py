"""Stores in which something was damaged after a comparison had been made there."""

import atexit
import json
import os
import shutil
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import torch

from ordinate.store import Store
from ordinate.store.pack import MANIFEST, pack
from ordinate.store.sums import content_sum
from ordinate.studies.compare import compare
from ordinate.training import Progress, baselines, checkpoint, loop, resolve, train

from .hostile import damaged

TASK = "k_back(k=1,vocabulary=4)"
SETTINGS: dict[str, Any] = dict(
    dim=8, heads=2, layers=1, steps=8, batch=8, train_lengths=[4, 6], ood_lengths=[8], evaluation_sequences=20, lr=0.01
)
PAIRS = [f"{key}={given}".replace(" ", "") for key, given in SETTINGS.items()]
UNFINISHED = ["train", TASK, "-e", "t5", *PAIRS]
COMPARED = ["compare", TASK, "-e", "rope,learned(rows=6)", "--seeds", "2", "--workers", "0", "--yes", *PAIRS]
UNPACK = ["store", "unpack", "all.zip", "--store", "new"]
NAMES = ("/etc/x", "../x", "a/../../x", "C:\\x", "a\nb", "a" * 300, "/", "x/", ".", "\u202ex", "con", "a//b")
JSON: tuple[Any, ...] = (
    None, True, 0, -1, 10**12, 10**400, 0.5, 1e308, float("nan"), float("inf"), "", "x", "\x1b[31m", [], [1], [[1]], {},
    {"x": 1}, "a" * 30_000,
)  # fmt: skip


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

    loop.SAVE_EVERY, usual = -1.0, loop.SAVE_EVERY
    try:
        train(resolve(SETTINGS | dict(task=TASK, encoding="t5")), Store(folder), interrupt)
    except KeyboardInterrupt:
        loop.SAVE_EVERY = usual
    return folder


def store(draw: Random, folder: Path) -> list[str]:
    """A command on a store of which up to three files are not what they were."""
    shutil.copytree(whole(), folder / "runs")
    files = sorted(path for path in (folder / "runs").rglob("*") if path.is_file())
    for path in draw.sample(files, draw.choice((1, 1, 2, 3))):
        _damage(draw, path)
    form = draw.choice(("html", "md", "csv", "tex", "json"))
    commands = (["status"], ["status", "--json"], ["report"], ["report", "--format", form], UNFINISHED, COMPARED)
    (study,) = (whole() / "studies").iterdir()
    checks = (["store", "check"], ["store", "check", "--json"], ["store", "check", "--repair"])
    packs = (["store", "pack", "all.zip"], ["store", "pack", "-"], ["store", "pack", "one.zip", study.name])
    return draw.choice((*commands, *commands, *checks, *packs))


def _damage(draw: Random, path: Path) -> None:
    match draw.randrange(8):
        case 0:
            path.unlink()
        case 1:
            path.unlink()
            path.mkdir()
        case 2:
            path.unlink()
            path.symlink_to(path.name)
        case 3:
            path.write_bytes(b"[" * 100_000)
        case 4 if path.suffix == ".jsonl":
            lines = path.read_bytes().splitlines(keepends=True)
            lines.insert(draw.randrange(len(lines) + 1), draw.choice((b"\n", b"null\n", b"{}\n", b"x\n", b"[[[[")))
            path.write_bytes(b"".join(lines))
        case 4 | 5 | 6 if path.suffix == ".json":
            content = changed(draw, json.loads(path.read_bytes()), JSON)
            if isinstance(content, dict) and "sum" in content and draw.random() < 0.7:  # by somebody who knows of it
                with suppress(ValueError):  # NaN has none
                    del content["sum"]
                    content["sum"] = content_sum(content)
            path.write_text(json.dumps(content))
        case _:
            path.write_bytes(damaged(draw, path.read_bytes()))


def changed(draw: Random, content: Any, values: tuple[Any, ...]) -> Any:
    """Plain data with one thing in it replaced, left out or added, at any depth."""
    if not isinstance(content, dict | list) or not content or draw.random() < 0.05:
        return draw.choice(values)
    keys = list(content) if isinstance(content, dict) else list(range(len(content)))
    key = draw.choice(keys)
    inner = isinstance(content[key], dict | list) and draw.random() < 0.8
    content[key] = changed(draw, content[key], values) if inner else draw.choice(values)
    if draw.random() < 0.2:
        del content[key]
    elif isinstance(content, dict) and draw.random() < 0.1:
        content["more"] = draw.choice(values)
    return content


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
        content = torch.load(path, weights_only=True)
        for _ in range(draw.choice((1, 1, 2))):
            content = changed(draw, content, tensors())
        torch.save(content, path)
    return UNFINISHED


def tensors() -> tuple[Any, ...]:
    one = torch.ones(8, 8)
    return (
        *JSON, torch.tensor(1e9), torch.tensor(float("nan")), torch.empty(0), one, one.double(), one.long(), one.bool(),
        one.to_sparse(), one.T, torch.ones(1).expand(10**9), torch.ones(8).expand(8, 8), torch.ones(1, device="meta"),
        torch.ones(8), torch.ones(4, 8), torch.ones(32, 8), torch.ones(32), torch.complex(one, one), 4, 8, 10**9, -3,
        4.0, "finished", "diverged", torch.nn.Parameter(one),
    )  # fmt: skip
