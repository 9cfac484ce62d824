"""The masked-token objective: what is hidden, what is predicted, and that sums of parts are those of the whole."""

import torch
from torch.nn import functional as F

from ordinate.lm.config import Options
from ordinate.lm.ranks import Ranks
from ordinate.lm.stream import training_rows, validation_rows
from ordinate.lm.trainer import LMTrainer
from ordinate.text.corpus import Corpus

from .small import DEVICE, small_config


def test_a_fixed_number_of_tokens_is_hidden_and_predicted(corpus: Corpus) -> None:
    masked, causal = small_config(corpus, causal=False), small_config(corpus)
    assert masked.text_vocabulary == causal.model.vocabulary == masked.model.vocabulary - 1
    for step in range(3):
        rows, plain = training_rows(masked, corpus, step), training_rows(causal, corpus, step)
        assert rows.scored is not None and rows.scored.shape == rows.targets.shape == (4, masked.row_targets) == (4, 2)
        hidden = rows.tokens == masked.text_vocabulary
        assert hidden.sum(dim=1).tolist() == [2] * 4 and hidden.gather(1, rows.scored).all()
        assert torch.equal(rows.tokens.scatter(1, rows.scored, rows.targets), plain.tokens)  # the same text in order
    again = training_rows(masked, corpus, 2)
    assert again.scored is not None and rows.scored is not None and torch.equal(again.scored, rows.scored)
    assert torch.equal(validation_rows(masked, corpus, [1, 2]).tokens[1:], validation_rows(masked, corpus, [2]).tokens)


def test_the_loss_is_that_of_the_hidden_tokens_alone(corpus: Corpus) -> None:
    config = small_config(corpus, causal=False, packing="continue+unmasked")
    trainer = LMTrainer(config, corpus, Options(device=DEVICE), Ranks())
    rows = training_rows(config, corpus, 0)
    with torch.no_grad():
        logits = trainer.model(rows.tokens)
    where = rows.tokens == config.text_vocabulary
    wanted = F.cross_entropy(logits[where], rows.targets.flatten(), reduction="sum")
    assert torch.allclose(trainer.train_step().loss, wanted, rtol=1e-4)


def test_micro_batches_do_not_change_the_weights(corpus: Corpus) -> None:
    found = []
    for size in (1, 4):
        options = Options(device=DEVICE, micro_batch=size)
        trainer = LMTrainer(small_config(corpus, causal=False), corpus, options, Ranks())
        for _ in range(2):
            trainer.train_step()
        found.append(trainer.model.embedding.weight.detach())
    assert torch.allclose(*found, atol=1e-5)


def test_every_token_sees_both_sides(corpus: Corpus) -> None:
    trainer = LMTrainer(small_config(corpus, causal=False), corpus, Options(device=DEVICE), Ranks())
    tokens = torch.randint(1, 250, (1, 16), generator=torch.Generator().manual_seed(0))
    changed = tokens.clone()
    changed[0, -1] = 251
    assert not torch.allclose(trainer.model.states(tokens)[:, 0], trainer.model.states(changed)[:, 0])
