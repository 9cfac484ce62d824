"""Scores, and what they must not depend on."""

import math
from statistics import fmean, pstdev

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate import InputError, Transformer
from ordinate.core.task import UNSCORED
from ordinate.training import RunConfig, evaluate
from ordinate.training.data import EvaluationSet, evaluation_sets
from ordinate.training.evaluate import correct, drawn_positions, longest_input

from .runs import small

NAN = math.nan


def first_set(config: RunConfig, split: str = "id") -> EvaluationSet:
    return next(s for s in evaluation_sets(config, config.make_task()) if s.split == split)


def model_of(config: RunConfig, std: float = 0.5) -> Transformer:
    """An untrained model whose answers are far from ties."""
    model = Transformer(config.model, seed=config.seed).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(std / weight.std())
    return model


@settings(deadline=None)
@given(logits=st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0, NAN, math.inf, -math.inf]), min_size=2, max_size=5))
def test_ties_and_nan_are_errors(logits: list[float]) -> None:
    """Right is only whose logit is above every other one."""
    for target in range(len(logits)):
        others = logits[:target] + logits[target + 1 :]
        expected = all(logits[target] > other for other in others)
        assert correct(torch.tensor([logits]), torch.tensor([target])).item() is expected


def test_a_constant_answer_earns_nothing() -> None:
    assert not correct(torch.zeros(3, 4, 5), torch.zeros(3, 4, dtype=torch.long)).any()


@pytest.mark.parametrize(
    ("task", "lengths"), [("k_back", [8, 16]), ("markers", 32), ("shift_pattern", [8, 16]), ("copy_unique", [2, 5])]
)
def test_scores_do_not_depend_on_the_chunks(
    task: str, lengths: int | list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(task=task, train_lengths=lengths, ood_lengths=[])
    model, chosen, found = model_of(config), first_set(config), []
    for tokens in (1, 100, 10**6):
        monkeypatch.setattr(evaluate, "TOKENS", tokens)
        scores = evaluate.evaluate(model, config.make_task(), config, chosen)
        assert scores is not None
        found.append(scores)
    assert found[0] == pytest.approx(found[1], rel=1e-5) and found[0] == pytest.approx(found[2], rel=1e-5)


def test_scores_by_hand() -> None:
    """Against a plain loop over all sequences and tokens."""
    config = small(evaluation_sequences=30)
    model, chosen = model_of(config), first_set(config)
    losses, rights, exact, means = [], [], [], []
    for tokens, targets in zip(chosen.batch.tokens, chosen.batch.targets, strict=True):
        logits = model(tokens[None])[0].double()
        asked = [(logits[t].log_softmax(-1), int(y)) for t, y in enumerate(targets) if y != UNSCORED]
        losses += [-line[y].item() for line, y in asked]
        means.append(fmean(losses[-len(asked) :]))
        right = [int(line.argmax()) == y for line, y in asked]
        rights += right
        exact.append(all(right))
    scores = evaluate.evaluate(model, config.make_task(), config, chosen)
    expected = dict(loss=sum(losses) / len(losses), accuracy=sum(rights) / len(rights), exact=sum(exact) / len(exact))
    expected["loss_error"] = pstdev(means) / 30**0.5
    assert scores is not None and scores == pytest.approx(expected, rel=1e-5)
    assert scores[config.make_task().metric] == scores["accuracy"]


def test_groups_are_reported_apart() -> None:
    config = small(task="markers", train_lengths=32, ood_lengths=[])
    scores = evaluate.evaluate(model_of(config), config.make_task(), config, first_set(config))
    assert scores is not None
    kinds = {f"{metric}{kind}" for metric in ("loss", "accuracy") for kind in ("", "_marker", "_value", "_padding")}
    assert scores.keys() == kinds | {"exact", "loss_error"}


def test_a_model_in_training_mode_is_refused() -> None:
    config = small()
    with pytest.raises(InputError, match="in evaluation mode"):
        evaluate.evaluate(model_of(config).train(), config.make_task(), config, first_set(config))


def test_where_an_encoding_refuses_to_go_there_are_no_scores() -> None:
    config = small(encoding="learned")
    model = model_of(config)
    assert longest_input(model) == 8
    assert evaluate.evaluate(model, config.make_task(), config, first_set(config)) is not None
    assert evaluate.evaluate(model, config.make_task(), config, first_set(config, "ood")) is None


def test_drawn_positions_are_averaged_over_the_same_draws_each_time() -> None:
    found = []
    for draws in (1, 1, 4):
        config = small(encoding="learned", coverage="randomized", position_limit=40, coverage_draws=draws)
        scores = evaluate.evaluate(model_of(config), config.make_task(), config, first_set(config))
        assert scores is not None
        found.append(scores)
    assert found[0] == found[1] and found[0]["draws_std"] == 0
    assert found[2]["loss"] != found[0]["loss"] and found[2]["draws_std"] > 0


def test_evaluation_may_stand_at_other_ids_than_training() -> None:
    plain, drawn = (
        small(encoding="learned", coverage="randomized", position_limit=40, test_coverage=tested)
        for tested in ("plain", "randomized")
    )
    model = model_of(plain)
    scores = evaluate.evaluate(model, plain.make_task(), plain, first_set(plain))
    assert scores is not None and "draws_std" not in scores
    counted = first_set(plain).batch
    again = evaluate.evaluate(model, drawn.make_task(), drawn, first_set(drawn))
    assert again is not None and again["loss"] != scores["loss"]
    logits = model(counted.tokens).flatten(0, 1)
    loss = torch.nn.functional.cross_entropy(logits, counted.targets.flatten(), ignore_index=UNSCORED)
    assert scores["loss"] == pytest.approx(loss.item(), rel=1e-5)


def test_ids_that_an_encoding_refuses_give_no_scores() -> None:
    config = small(encoding="learned", test_coverage="offset", position_limit=40)
    assert evaluate.evaluate(model_of(config), config.make_task(), config, first_set(config)) is None


def test_drawn_positions_change_nothing_for_who_does_not_look() -> None:
    config = small(encoding="none", coverage="randomized", position_limit=40)
    scores = evaluate.evaluate(model_of(config), config.make_task(), config, first_set(config))
    assert scores is not None and scores["draws_std"] == 0


def test_each_sequence_is_scored_at_ids_of_its_own() -> None:
    configs = [small(coverage="randomized", position_limit=40, encoding=name, seed=s) for s, name in enumerate(
        ("learned", "alibi"))]  # fmt: skip
    drawn = [drawn_positions(c, c.make_task(), first_set(c), number) for c in configs for number in (0, 1)]
    assert torch.equal(drawn[0], drawn[2]) and torch.equal(drawn[1], drawn[3])  # the same for all models and seeds
    assert not torch.equal(drawn[0], drawn[1])
    for ids in drawn[:2]:
        assert ids.shape == (40, 8, 1) and ids.max() < 40
        assert (ids.diff(dim=1) > 0).all()
        assert len({tuple(row) for row in ids[..., 0].tolist()}) == 40


def test_randomized_scores_by_hand() -> None:
    """Each sequence passed alone, at its ids; over two draws."""
    config = small(encoding="learned", coverage="randomized", position_limit=40, coverage_draws=2)
    model, task, chosen = model_of(config), config.make_task(), first_set(config)
    losses = []
    for number in (0, 1):
        ids = drawn_positions(config, task, chosen, number)
        for tokens, targets, places in zip(chosen.batch.tokens, chosen.batch.targets, ids, strict=True):
            line = model(tokens[None], positions=places)[0].double().log_softmax(-1)
            losses += [-line[t, y].item() for t, y in enumerate(targets.tolist()) if y != UNSCORED]
    scores = evaluate.evaluate(model, task, config, chosen)
    assert scores is not None and scores["loss"] == pytest.approx(fmean(losses), rel=1e-5)
