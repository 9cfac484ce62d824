"""The runs of a study as a person would write them down: a loop over x-transformers, with its default threads.

`python -m benchmarks.plain_loop SEEDS SETTINGS`, the settings as JSON. Same task, batches, sizes, optimizer, schedule
and evaluations as ours; batches are padded.
"""

import json
import sys

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from x_transformers import Decoder, TransformerWrapper

from benchmarks.pad import padded
from ordinate.core.task import UNSCORED
from ordinate.training.config import RunConfig, resolve
from ordinate.training.data import TrainingData, evaluation_sets
from ordinate.training.optimizer import task_schedule
from ordinate.training.trainer import CURVE_SEQUENCES, check_every

SETTINGS = {"lr": 0.001, "budget": "fixed"}
KINDS = {
    "none": {},
    "rope": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 4},
    "t5": {"rel_pos_bias": True},
}


def model(kind: str) -> nn.Module:
    layers = Decoder(dim=64, depth=2, heads=4, attn_dim_head=16, **KINDS[kind])
    return TransformerWrapper(num_tokens=16, max_seq_len=128, attn_layers=layers, use_abs_pos_emb=False)


@torch.inference_mode()
def score(net: nn.Module, tokens: Tensor, targets: Tensor) -> float:
    net.eval()
    right = torch.cat([net(part).argmax(dim=-1) for part in tokens.split(64)]) == targets
    net.train()
    return right[targets != UNSCORED].float().mean().item()


def run(config: RunConfig, kind: str) -> dict[str, float]:
    task = config.make_task()
    torch.manual_seed(config.seed)
    net, data, sets = model(kind), TrainingData(config, task), evaluation_sets(config, task)
    optimizer = torch.optim.AdamW(net.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=0.01)
    valid = sets[0].batch.rows(0, CURVE_SEQUENCES)
    for step in range(config.steps):
        batch = padded(data.parts(step))
        loss = F.cross_entropy(net(batch.tokens).flatten(0, 1), batch.targets.flatten(), ignore_index=UNSCORED)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = task_schedule(config).rate(step)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if (step + 1) % check_every(config, task) == 0:
            score(net, valid.tokens, valid.targets)
    return {f"{s.split} {s.length}": score(net, s.batch.tokens, s.batch.targets) for s in sets}


def main(seeds: int, settings: dict[str, object]) -> None:
    for seed in range(1, seeds + 1):
        for kind in KINDS:
            config = resolve({"task": "k_back", "encoding": "none", "seed": seed, **settings})
            print(kind, seed, run(config, kind))


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
