"""Trackers get what the journal has, with tokens as their axis."""

import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.config import Options
from ordinate.lm.sinks import known
from ordinate.store.files import Journal
from ordinate.text.corpus import Corpus

from .small import DEVICE, decay, small_config

OPTIONS = Options(device=DEVICE, log_every=1, valid_every=100, valid_tokens=64)


def _train(corpus: Corpus, folder: Path, *trackers: str) -> Path:
    config = small_config(corpus)
    training = BranchedTraining(config, corpus, folder, replace(OPTIONS, trackers=trackers))
    (made,) = training.run(branches(config, [8 * config.step_tokens], decay))
    return made


@pytest.mark.slow
def test_an_offline_run_of_wandb_is_written_and_read_back(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    folder = _train(corpus, tmp_path, "wandb")
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    rows = list(_history(file))
    journal = list(Journal(folder / "metrics.jsonl").read())
    assert [row["tokens"] for row in rows] == [row["tokens"] for row in journal]
    assert [row["loss"] for row in rows] == pytest.approx([row["loss"] for row in journal])


def _history(file: Path) -> Iterator[dict[str, float]]:
    """The numbers of a run in its file: records of a LevelDB log (blocks of 32 KiB) behind a header of 7 bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = file.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        if 32_768 - at % 32_768 < 7:  # too little room for a record: zeros up to the next block
            at += 32_768 - at % 32_768
            continue
        size, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            record, whole = Record.FromString(whole), b""
            if record.HasField("history"):
                yield {
                    item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item
                }


@pytest.mark.slow
def test_tensorboard_has_tokens_as_steps(corpus: Corpus, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = _train(corpus, tmp_path, "tensorboard")
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    journal = [row for row in Journal(folder / "metrics.jsonl").read() if "loss" in row]
    assert [event.step for event in events.Scalars("loss")] == [row["tokens"] for row in journal]
    assert [event.value for event in events.Scalars("loss")] == pytest.approx([row["loss"] for row in journal])


def test_an_unknown_tracker_is_named() -> None:
    with pytest.raises(InputError, match="did you mean wandb"):
        known("wandbb")
