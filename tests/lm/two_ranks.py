"""Run by torchrun in a test: a few steps with copies of the weights and with shards of them."""

import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch
from small import DEVICE, decay, small_config  # type: ignore[import-not-found]

from ordinate.lm import checkpoint
from ordinate.lm.course import Course
from ordinate.lm.ranks import joined
from ordinate.lm.schedule import branches
from ordinate.lm.stretch import Stopped
from ordinate.lm.trainer import Options, Trainer
from ordinate.text.corpus import open_corpus


def main(data: Path, folder: Path) -> None:
    corpus = open_corpus(data)
    config = small_config(corpus)
    with joined(torch.device(DEVICE)) as ranks:
        for shard in ("none", "fsdp2"):
            options = Options(device=DEVICE, shard=shard, micro_batch=1)  # type: ignore[arg-type]
            trainer = Trainer(config, corpus, options, ranks)
            for _ in range(10):
                trainer.advance()
            state, scores = {**trainer.state(), "journal": 0}, trainer.validate()
            if ranks.first:
                checkpoint.save(folder / f"{shard}.pt", "me", state)
                (folder / f"{shard}.json").write_text(json.dumps(scores))

            course = Course(
                config, corpus, folder / f"course-{shard}",
                replace(options, log_every=1, save_every=0.0, valid_tokens=64), ranks,
            )  # fmt: skip
            planned = branches(config, [12 * config.step_tokens], decay)
            seen: list[int] = []
            with suppress(Stopped):
                course.run(planned, lambda now, seen=seen: seen.append(now.step), lambda seen=seen: len(seen) >= 5)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
