"""Training language models: ours beside plain modules in a plain loop and beside x-transformers; and the loss alone."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from x_transformers import Decoder, TransformerWrapper

from benchmarks.measure import Row, compare, in_turns
from benchmarks.plain_lm import PlainModel
from benchmarks.text import write_text
from ordinate import ModelConfig
from ordinate.lm.config import Options, TrunkConfig, resolve
from ordinate.lm.hardware import matmul_rate
from ordinate.lm.loss import total_loss
from ordinate.lm.ranks import Ranks
from ordinate.lm.stream import training_rows
from ordinate.lm.trainer import LMTrainer
from ordinate.text.corpus import Corpus
from ordinate.text.prepare import prepare
from ordinate.text.request import request
from ordinate.training.environment import keep_memory

TEXT = 2_000_000  # characters of the corpus that steps are timed on
LOSS = dict(tokens=2048, width=512, vocabulary=65_536)
TINY_LOSS = dict(tokens=32, width=16, vocabulary=1024)


def run(rounds: int = 30, tiny: bool = False) -> dict[str, list[Row]]:
    keep_memory()
    settings = dict(dim=32, layers=1, heads=2, length=32, batch=4, vocabulary=300) if tiny else {}
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            f"a step of {size}, tokens per second": steps(size, Path(folder) / size, rounds, settings)
            for size in (("nano",) if tiny else ("nano", "micro"))
        }
    return tables | {
        "memory of the loss, in units of 400 MB": [memory(tiny)],
        "time of the loss and its gradients": [loss_time(**(TINY_LOSS if tiny else LOSS), rounds=min(rounds, 5))],
    }


def steps(size: str, folder: Path, rounds: int, settings: dict[str, object]) -> list[Row]:
    """Whole steps, data and optimizer included; ratios are of speed."""
    corpus = small_corpus(folder, resolve(size, "rope", "", settings)[0].model.vocabulary, 50_000 if settings else TEXT)
    config = resolve(size, "rope", corpus.fingerprint, settings)[0]
    open_rows = resolve(size, "rope", corpus.fingerprint, settings | {"packing": "continue+unmasked"})[0]
    ours, unmasked = (LMTrainer(c, corpus, Options(device="cpu"), Ranks()) for c in (config, open_rows))
    plain, theirs = PlainModel(config.model), borrowed(config.model)
    times = in_turns(
        {
            "ours": ours.train_step,
            "ours, documents unmasked": unmasked.train_step,
            "plain modules": loop(plain, config, corpus),
            "x-transformers": loop(theirs, config, corpus),
        },
        rounds=rounds,
    )
    better = min(("plain modules", "x-transformers"), key=lambda name: min(times[name]))
    share = ours.flops * config.step_tokens / min(times["ours"]) / matmul_rate(torch.device("cpu"), torch.float32)
    return [
        compare(times, "ours, documents unmasked", better, required=">= 1.00", goal="1.15", speed=True),
        compare(times, "ours", better, required=">= 1.00", goal="1.15", speed=True),
        compare(times, "ours", "plain modules", speed=True),
        compare(times, "ours", "x-transformers", speed=True),
        Row("ours", "a large product", share, share, share, goal="0.65" if size == "micro" else ""),
    ]


def small_corpus(folder: Path, vocabulary: int, characters: int) -> Corpus:
    text = write_text(folder / "text", characters)
    return prepare(request(f"text:{text}", vocabulary=vocabulary), folder / "corpus", workers=0)


def borrowed(config: ModelConfig) -> nn.Module:
    """x-transformers at the same shape."""
    layers = Decoder(
        dim=config.dim, depth=config.layers, heads=config.heads, attn_dim_head=config.head_dim, rotary_pos_emb=True,
        rotary_emb_dim=config.head_dim, attn_flash=True, use_rmsnorm=True, attn_qk_norm=True, ff_swish=True,
        ff_glu=True, ff_no_bias=True, ff_mult=4,
    )  # fmt: skip
    return TransformerWrapper(
        num_tokens=config.vocabulary,
        max_seq_len=config.length,
        attn_layers=layers,
        use_abs_pos_emb=False,
        tie_embedding=True,
    )


def loop(model: nn.Module, config: TrunkConfig, corpus: Corpus) -> Callable[[], None]:
    """A step of a plain loop on the same sequences, at its best settings: fused AdamW, one pass, no masks."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    step = 0

    def advance() -> None:
        nonlocal step
        rows = training_rows(config, corpus, step)
        loss = F.cross_entropy(model(rows.tokens).flatten(0, 1), rows.targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1

    return advance


def memory(tiny: bool) -> Row:
    """Of loss and gradients at a vocabulary of 65,536 and 2,048 tokens of width 512, in a fresh process."""
    if tiny:
        size = loss_memory(**TINY_LOSS)
    else:
        script = f"import json; from benchmarks.lm import loss_memory; print(json.dumps(loss_memory(**{LOSS!r})))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        size = json.loads(done.stdout)
    share = size / 400e6
    return Row("the loss", "400 MB", share, share, share, required="<= 1.00")


def loss_time(tokens: int, width: int, vocabulary: int, rounds: int) -> Row:
    """In chunks, beside the logits of all tokens at once."""
    source = torch.Generator().manual_seed(0)
    states = torch.randn(tokens, width, generator=source, requires_grad=True)
    weight = (torch.randn(vocabulary, width, generator=source) * 0.02).requires_grad_()
    targets = torch.randint(vocabulary, (tokens,), generator=source)

    def timed(loss: Callable[[], torch.Tensor]) -> Callable[[], None]:
        def run() -> None:
            states.grad = weight.grad = None
            loss().backward()

        return run

    times = in_turns(
        {
            "in chunks": timed(lambda: total_loss(states, weight, targets)),
            "at once": timed(lambda: F.cross_entropy(states @ weight.t(), targets, reduction="sum")),
        },
        rounds=rounds,
    )
    return compare(times, "in chunks", "at once", required="<= 1.05", goal="1.00")


def loss_memory(tokens: int, width: int, vocabulary: int) -> float:
    """Bytes over what the inputs take, their own gradients included."""
    from ordinate.training.step_memory import _highest, _reset

    states, weight = torch.randn(tokens, width, requires_grad=True), torch.randn(vocabulary, width, requires_grad=True)
    total_loss(states[:16], weight[:512], torch.zeros(16, dtype=torch.long)).backward()
    states.grad = weight.grad = None
    before = _reset()
    total_loss(states, weight, torch.zeros(tokens, dtype=torch.long)).backward()
    return float(_highest() - before)
