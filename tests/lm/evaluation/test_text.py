"""Losses of text against an own computation, token by token."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ordinate.lm.evaluation.config import TextConfig
from ordinate.lm.evaluation.documents import first_tokens, read_documents, spread_blocks
from ordinate.lm.evaluation.scorer import Scorer, Tokens, WindowedText
from ordinate.lm.evaluation.text import EvaluationText, buckets, evaluate_text
from ordinate.lm.evaluation.windows import rolling_windows
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import Transformer
from ordinate.text.corpus import Corpus

LENGTH = 16  # trained
SETTINGS = TextConfig(overall=10_000, tokens=512, targets=64, contexts=(0.5, 1, 2, 4), more_contexts=(1.5,))


def text_of(documents: list[Tokens], settings: TextConfig = SETTINGS) -> EvaluationText:
    return EvaluationText.of(documents, np.ones(300, np.int64) * 2, LENGTH, settings)


def loss_of(trained: TrainedModel, before: Tokens, target: int) -> float:
    """Of one token after these, by the model's own logits."""
    with torch.no_grad():
        logits = trained.model(torch.from_numpy(before)[None])[0, -1]
    return float(F.cross_entropy(logits, torch.tensor(target)))


def all_losses(trained: TrainedModel, tokens: Tokens, context: int, stride: int) -> list[float]:
    pieces = [WindowedText(tokens, window) for window in rolling_windows(len(tokens), context, stride)]
    return np.concatenate(Scorer.of(trained).losses(pieces)).tolist()


def test_stride_one_is_the_full_factorization(untrained: Callable[..., TrainedModel], documents: list[Tokens]) -> None:
    trained, tokens = untrained(), documents[2]
    own = [loss_of(trained, tokens[max(0, at - LENGTH) : at], int(tokens[at])) for at in range(1, len(tokens))]
    assert all_losses(trained, tokens, LENGTH, 1) == pytest.approx(own, abs=1e-4)


def test_disjoint_windows_are_restarts(untrained: Callable[..., TrainedModel], documents: list[Tokens]) -> None:
    trained, tokens = untrained("sinusoidal"), documents[2]
    own = [loss_of(trained, tokens[(at - 1) // LENGTH * LENGTH : at], int(tokens[at])) for at in range(1, len(tokens))]
    assert all_losses(trained, tokens, LENGTH, LENGTH) == pytest.approx(own, abs=1e-4)


def test_a_document_that_fits_is_scored_alike_by_every_protocol(
    untrained: Callable[..., TrainedModel], documents: list[Tokens]
) -> None:
    trained, tokens = untrained(), documents[4]
    found = [all_losses(trained, tokens, LENGTH, stride) for stride in (1, 4, LENGTH)]
    assert found[0] == pytest.approx(found[1], abs=1e-5) and found[0] == pytest.approx(found[2], abs=1e-5)


def test_every_protocol_scores_the_same_tokens_and_names_itself(
    untrained: Callable[..., TrainedModel], documents: list[Tokens]
) -> None:
    text = text_of(documents)
    assert (text.longest, text.long_documents) == (64, 3)
    rows, positions = evaluate_text(Scorer.of(untrained()), text, lambda stage: None)
    windows = [row.losses for row in rows if row.protocol in ("disjoint", "sliding") and row.text == "long"]
    assert len(windows) == 8 and len({row and row.tokens for row in windows}) == 1
    targets = [row.losses for row in rows if row.protocol == "same targets"]
    assert len(targets) == 5 and len({row and row.tokens for row in targets}) == 1
    assert {(row.context, row.stride) for row in rows if row.protocol == "sliding"} == {
        (8, 2),
        (16, 4),
        (32, 8),
        (64, 16),
    }
    overall = rows[0].losses
    assert rows[0].text == "all" and overall is not None
    assert overall.total_tokens == sum(len(tokens) - 1 for tokens in documents)
    assert overall.bytes == tuple(2 * count for count in overall.tokens)
    # sums and counts: positions add up to the windows they are of
    disjoint = next(row.losses for row in rows if (row.protocol, row.context, row.text) == ("disjoint", 16, "long"))
    inside = [row.losses for row in positions if row.context == 16]
    assert disjoint is not None
    assert sum(losses.total_tokens for losses in inside) == disjoint.total_tokens
    assert sum(sum(losses.loss) for losses in inside) == pytest.approx(sum(disjoint.loss))
    assert [row.first for row in positions] == [1, *(row.last + 1 for row in positions[:-1])]
    assert positions[-1].last == 64


def test_same_targets_have_the_losses_of_their_contexts(
    untrained: Callable[..., TrainedModel], documents: list[Tokens]
) -> None:
    trained, text = untrained(), text_of(documents)
    rows, _ = evaluate_text(Scorer.of(trained), text, lambda stage: None)
    blocks = text.target_blocks()
    row = next(row for row in rows if (row.protocol, row.context) == ("same targets", 64))
    own = 0.0
    for block in blocks:  # one window: the targets are its last ones
        with torch.no_grad():
            logits = trained.model(torch.from_numpy(block.tokens[:-1])[None])[0, -text.targets :]
        own += float(F.cross_entropy(logits, torch.from_numpy(block.tokens[-text.targets :]), reduction="sum"))
    assert row.losses is not None and sum(row.losses.loss) == pytest.approx(own, rel=1e-5)
    key = next(row for row in rows if (row.protocol, row.context) == ("key tokens", 64)).losses
    assert key is not None and 1 <= key.total_tokens <= 0.1 * row.losses.total_tokens


class RepeatsLastTokens(Transformer):
    """Sure that the token K before the next one comes again; knows nothing before it has read K tokens."""

    def states(self, tokens: torch.Tensor, document_ids: torch.Tensor | None = None) -> torch.Tensor:
        states = torch.zeros(*tokens.shape, self.config.vocabulary)
        states[:, K - 1 :] = F.one_hot(tokens[:, : tokens.shape[1] - K + 1], self.config.vocabulary).float()
        return states

    @property
    def unembedding(self) -> torch.Tensor:
        return 1000 * torch.eye(self.config.vocabulary)


K = 7


def test_loss_by_position_of_a_model_that_knows_the_last_k_tokens_falls_at_k(
    untrained: Callable[..., TrainedModel],
) -> None:
    """On texts with period K: guessing among the vocabulary with fewer than K tokens before, and right from then on."""
    source = np.random.default_rng(0)
    texts = [np.tile(source.permutation(300)[:K], 30) for _ in range(3)]
    trained = untrained()
    scorer = Scorer(trained, RepeatsLastTokens(trained.config.model))
    rows, positions = evaluate_text(scorer, text_of(texts), lambda stage: None)
    for row in positions:
        unknown = sum(1 for position in range(row.first, row.last + 1) if position < K)
        assert row.losses.per_token == pytest.approx(unknown / (row.last - row.first + 1) * np.log(300), abs=1e-6)
    by_context = {(row.protocol, row.context): row.losses for row in rows if row.text == "long" and row.losses}
    restarts = sum(-(-(len(block.tokens) - 1) // 64) for block in text_of(texts).blocks())
    unknown = restarts * (K - 1) * np.log(300)
    assert sum(by_context["disjoint", 64].loss) == pytest.approx(unknown, abs=1e-4)
    assert by_context["same targets", 16].per_token == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("context", "trained"), [(2048, 256), (64, 16), (256, 256), (100, 7), (3, 16)])
def test_buckets_cover_every_position_once_and_end_at_the_trained_length(context: int, trained: int) -> None:
    found = buckets(context, trained)
    assert [p for first, last in found for p in range(first, last + 1)] == list(range(1, context + 1))
    assert trained > context or trained in [last for _, last in found]


def test_an_encoding_that_ends_says_so(untrained: Callable[..., TrainedModel], documents: list[Tokens]) -> None:
    rows, positions = evaluate_text(Scorer.of(untrained("learned")), text_of(documents), lambda stage: None)
    for row in rows:
        assert (row.losses is None) == (row.context > LENGTH)
        assert ("refuses from position 16 on" in row.reason) == (row.context > LENGTH)
    assert max(row.context for row in positions) == LENGTH


def test_contexts_without_documents_are_not_available(untrained: Callable[..., TrainedModel]) -> None:
    short = [np.arange(1, 30), np.arange(1, 25), np.arange(1, 400) % 300]
    text = text_of(short)
    assert text.longest == 24
    rows, _ = evaluate_text(Scorer.of(untrained()), text, lambda stage: None)
    assert all((row.losses is None) == (row.context > 24) for row in rows)
    assert any("the longest: 399" in row.reason for row in rows)
    nothing, _ = evaluate_text(Scorer.of(untrained()), text_of([np.arange(1, 5)]), lambda stage: None)
    assert [row.text for row in nothing if row.losses is not None] == ["all"]


def test_documents_are_those_of_the_split(long_corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_documents(long_corpus)
    tokens, numbers = long_corpus.read("valid", 0, long_corpus.tokens("valid"))
    assert [len(document) for document in found] == np.bincount(numbers).tolist()
    assert np.array_equal(np.concatenate(found), tokens)
    monkeypatch.setattr("ordinate.lm.evaluation.documents.CHUNK", 37)
    assert all(np.array_equal(a, b) for a, b in zip(read_documents(long_corpus), found, strict=True))


def test_blocks_are_taken_from_as_many_documents_as_possible(documents: list[Tokens]) -> None:
    blocks = list(spread_blocks(documents, 60, 90, 60))
    assert [block.document for block in blocks] == [0, 1, 3, 0, 1, 3, 0, 3, 3]
    assert [len(block.tokens) - 1 for block in blocks] == [90, 90, 90, 90, 90, 90, 80, 90, 80]
    assert sum(len(block.tokens) - 1 for block in first_tokens(documents, 333)) == 333
