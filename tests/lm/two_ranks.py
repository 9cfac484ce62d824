"""Run by torchrun in a test: a few steps with copies of the weights and with shards of them."""

import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch
from small import DEVICE, decay, small_config  # type: ignore[import-not-found]

from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.config import Options
from ordinate.lm.ranks import joined
from ordinate.lm.trainer import LMTrainer
from ordinate.text.corpus import open_corpus
from ordinate.training import checkpoint
from ordinate.training.interruption import Interrupted


def main(data: Path, folder: Path) -> None:
    corpus = open_corpus(data)
    config = small_config(corpus)
    with joined(torch.device(DEVICE)) as ranks:
        for shard in ("none", "fsdp2"):
            options = Options(device=DEVICE, shard=shard, micro_batch=1)  # type: ignore[arg-type]
            trainer = LMTrainer(config, corpus, options, ranks)
            for _ in range(10):
                trainer.train_step()
            tensors, scores = checkpoint.collect(trainer.model, trainer.optimizer), trainer.validate()
            if ranks.first:
                state = checkpoint.LanguageModelState(trainer.step, 0.0, 0, 0.0, 0)
                checkpoint.save(folder / f"{shard}.pt", "me", tensors, state)
                (folder / f"{shard}.json").write_text(json.dumps(scores._asdict()))

            planned = branches(config, [12 * config.step_tokens], decay)
            often = replace(options, log_every=1, save_every=0.0, valid_tokens=64)
            for name in ("training", "resumed", "straight"):
                training = BranchedTraining(config, corpus, folder / f"{name}-{shard}", often, ranks)
                seen: list[int] = []
                if name != "straight":
                    with suppress(Interrupted):
                        training.run(planned, lambda now, s=seen: s.append(now.step), lambda s=seen: len(s) >= 5)
                if name != "training":
                    training.run(planned)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
