"""A step of training against a plain loop, and what must not change it."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from ordinate.core.errors import InputError
from ordinate.lm.budgets import branch, branch_schedule
from ordinate.lm.config import Options, TrunkConfig, resolve
from ordinate.lm.errors import DivergedError
from ordinate.lm.ranks import Ranks
from ordinate.lm.stream import RowReader, check_fit, training_rows
from ordinate.lm.trainer import LMTrainer
from ordinate.model import Transformer
from ordinate.text.corpus import Corpus

from .small import DEVICE, SMALL, decay, small_config

OPTIONS = Options(device=DEVICE)


def _trainer(config: TrunkConfig, corpus: Corpus, **options: object) -> LMTrainer:
    return LMTrainer(config, corpus, replace(OPTIONS, **options), Ranks())  # type: ignore[arg-type]


def test_steps_are_those_of_a_plain_loop(corpus: Corpus) -> None:
    """Written out: all logits at once, torch's own AdamW without fusing, the rate from the schedule."""
    config = small_config(corpus)
    end = branch(config, 12 * config.step_tokens, decay)
    trainer = LMTrainer(config, corpus, OPTIONS, Ranks(), end)
    losses = [float(trainer.train_step().loss) / config.step_tokens for _ in range(12)]

    model = Transformer(config.model, seed=config.seed)
    matrices = [w for name, w in model.named_parameters() if w.dim() > 1]
    others = [w for name, w in model.named_parameters() if w.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), foreach=False, fused=False)
    plain = []
    for step in range(12):
        rows = training_rows(config, corpus, step)
        logits = model(rows.tokens, document_ids=rows.document_ids)
        loss = F.cross_entropy(logits.flatten(0, 1), rows.targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = branch_schedule(config, end).rate(step)
        optimizer.step()
        plain.append(loss.item())
    assert losses == pytest.approx(plain, rel=1e-4)
    for (name, found), wanted in zip(trainer.model.named_parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(found.cpu(), wanted, rtol=2e-3, atol=2e-5, msg=name)


def test_a_batch_cut_into_parts_gives_the_same_step(corpus: Corpus) -> None:
    config = small_config(corpus)
    whole, parts = _trainer(config, corpus), _trainer(config, corpus, micro_batch=1)
    for _ in range(3):
        met = [trainer.train_step() for trainer in (whole, parts)]
        torch.testing.assert_close(met[0], met[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("packing", ["restart+masked", "continue+masked", "continue+unmasked"])
def test_packing_reaches_the_encoding(corpus: Corpus, packing: str) -> None:
    """Documents that are kept apart and count from 0 have the losses that they have alone; the others have not."""
    config = small_config(corpus, packing=packing, encoding="learned")
    trainer = _trainer(config, corpus)
    rows = next(rows for step in range(50) if (rows := training_rows(config, corpus, step)).document_ids is not None)
    assert rows.document_ids is not None
    trainer.objective.eval()
    together = trainer.objective(rows.tokens, rows.targets, rows.document_ids)
    row = int((rows.document_ids[:, 1:] != rows.document_ids[:, :-1]).any(dim=1).nonzero()[0])
    start = int((rows.document_ids[row, 1:] != rows.document_ids[row, :-1]).nonzero()[0]) + 1
    stop = start + int((rows.document_ids[row, start:] == rows.document_ids[row, start]).sum())
    alone = trainer.objective(rows.tokens[row : row + 1, start:stop], rows.targets[row : row + 1, start:stop], None)
    same = torch.allclose(together[row, start:stop], alone[0], atol=1e-4)
    assert same == (packing == "restart+masked")


def test_validation_is_the_mean_over_the_split_and_bits_count_bytes(corpus: Corpus) -> None:
    config = small_config(corpus)
    trainer = _trainer(config, corpus, valid_tokens=10**9)
    scores = trainer.validate()
    length, losses, size = config.model.length, [], 0
    for number in range(corpus.sequences("valid", length)):
        tokens, document_ids = (torch.from_numpy(x) for x in corpus.sequence("valid", length, number))
        here, apart = tokens[None, :-1].to(trainer.device), document_ids[None, :-1].to(trainer.device)
        logits = trainer.model(here, document_ids=apart).cpu()
        losses.append(F.cross_entropy(logits[0], tokens[1:], reduction="none"))
        size += int(torch.from_numpy(corpus.token_bytes())[tokens[1:]].sum())
    total = torch.cat(losses).double().sum().item()
    assert scores.valid_loss == pytest.approx(total / len(losses) / length, rel=1e-5)
    assert scores.bits_per_byte == pytest.approx(total / size / 0.6931471805599453, rel=1e-5)


def test_a_part_of_the_stream_may_be_algorithmic(corpus: Corpus) -> None:
    plain, mixed = small_config(corpus), small_config(corpus, mix=0.5)
    same = different = 0
    for step in range(10):
        a, b = training_rows(plain, corpus, step), training_rows(mixed, corpus, step)
        for one, other in zip(a.tokens, b.tokens, strict=True):
            same, different = same + bool(torch.equal(one, other)), different + (not torch.equal(one, other))
    assert min(same, different) > 10  # of 40: the text that is left stands where it stood


def test_rows_do_not_depend_on_ranks(corpus: Corpus) -> None:
    config = small_config(corpus)
    whole = training_rows(config, corpus, 3).tokens
    for world in (1, 2, 4):
        parts = [training_rows(config, corpus, 3, rank, world).tokens for rank in range(world)]
        assert torch.equal(torch.stack(parts, dim=1).flatten(0, 1), whole)


def test_rows_read_ahead_are_those_of_their_step(corpus: Corpus) -> None:
    config = small_config(corpus)
    reader = RowReader(config, corpus, Ranks(1, 2), 1, pin=False)
    for step in (0, 1, 2, 7, 8, 3):  # in order, and after a jump
        parts = reader.read(step)
        wanted = training_rows(config, corpus, step, 1, 2)
        assert len(parts) == 2 and torch.equal(torch.cat([part.tokens for part in parts]), wanted.tokens)
        assert torch.equal(torch.cat([part.targets for part in parts]), wanted.targets)


def test_what_does_not_fit_is_refused(corpus: Corpus) -> None:
    fit = small_config(corpus)
    for change, why in (
        (resolve("nano", "rope", corpus.fingerprint, SMALL | {"vocabulary": 290})[0], "vocabulary"),
        (resolve("nano", "rope", corpus.fingerprint, SMALL | {"length": 50_000})[0], "fewer than one sequence"),
        (replace(fit, corpus="other"), "other data"),
    ):
        with pytest.raises(InputError, match=why):
            check_fit(change, corpus, Ranks())
    with pytest.raises(InputError, match="evenly"):
        check_fit(fit, corpus, Ranks(0, 3))


@pytest.mark.parametrize("lr", [1e30, 1e10])
def test_a_rate_that_is_too_high_is_said(corpus: Corpus, lr: float) -> None:
    trainer = _trainer(small_config(corpus, lr=lr, warmup=0, clip=0), corpus)
    met = [trainer.train_step() for _ in range(20)][-1]
    with pytest.raises(DivergedError, match="the loss is not finite at step 20"):
        trainer.metrics(met)


def test_narrow_arithmetic_learns_too(corpus: Corpus) -> None:
    """bfloat16 under autocast, which a CPU can compute, if slowly."""
    upcast, narrow = (_trainer(small_config(corpus, precision=kind), corpus) for kind in ("float32", "bfloat16"))
    losses = [[float(trainer.train_step().loss) for _ in range(5)] for trainer in (upcast, narrow)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert all(weight.dtype == torch.float32 for weight in narrow.model.parameters())
