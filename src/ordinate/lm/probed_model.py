"""A trained language model as probes need it: with the same model untrained, and validation text."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from ordinate.core.errors import InputError
from ordinate.core.positions import Positions
from ordinate.core.task import UNSCORED, Batch
from ordinate.lm.evaluation.documents import TextBlock, read_documents, spread_blocks
from ordinate.lm.evaluation.masked import choose_masks
from ordinate.lm.evaluation.scorer import Tokens
from ordinate.lm.stored_models import read_with_trunk
from ordinate.lm.trained_model import TrainedModel, open_trained
from ordinate.model import Transformer
from ordinate.probes.attention_patterns import NO_TARGETS, Targets
from ordinate.probes.model_probe import OwnModelProbe
from ordinate.probes.run_probe import probe_own_model
from ordinate.probes.trained_run import FEWEST, check_sequences

LONGEST = 256  # tokens of a sequence, unless more are asked for
SHORTEST = 8  # below this no head can be told from another
LOGITS = 2**25  # that are held at once
TOKENS = 8_192  # that interventions and readers see, unless a number of sequences is given
GUESSING = 0.9  # of the loss of an even guess: a model above it has learned nothing


@dataclass(frozen=True)
class LanguageModelProbe(OwnModelProbe):
    """What a trained language model does with validation text. Interventions cost nats per token."""

    name: str  # of its folder
    sha256: str  # of the checkpoint
    size: str
    tokens: int  # that it was trained on
    corpus: str  # fingerprint
    remark: str  # what to know before reading on


@dataclass(frozen=True, eq=False)
class LanguageModelSubject:
    """Sequences begin every `length` tokens of validation documents, the first of each document first, so that a
    token's position is the number of tokens that it can see."""

    trained: TrainedModel
    untrained: Transformer
    documents: list[Tokens]
    length: int
    gradient_norms: tuple[tuple[int, float], ...]
    metric: str = "loss in nats per token"
    lower_is_better: bool = True

    @property
    def model(self) -> Transformer:
        return self.trained.model

    @property
    def encoding(self) -> str:
        return self.trained.config.encoding

    @property
    def seed(self) -> int:
        return self.trained.config.seed

    @cached_property
    def learned(self) -> bool:
        """Whether it predicts better than by an even guess."""
        loss = self.score(self.examples(self.length, FEWEST), self.length)
        return loss is not None and loss < GUESSING * math.log(self.model.config.classes)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Its own, and twice as many tokens if the encoding and the text have them."""
        return tuple(n for n in (self.length, 2 * self.length) if n == self.length or self._can_be(n))

    @property
    def trained_length(self) -> int:
        return self.trained.config.model.length

    @property
    def shift_within(self) -> tuple[int, int] | None:
        shorter = min(self.length, self.trained_length // 2)
        return (shorter, self.trained_length - shorter) if shorter >= SHORTEST // 2 else None

    @property
    def repeatable(self) -> bool:
        return self.model.config.causal

    def width(self, length: int) -> int:
        return length

    def targets(self, batch: Batch) -> Targets:
        return NO_TARGETS

    def examples(self, length: int, count: int, *, shared: bool = False) -> Batch:
        """The same sequences at every call; positions are shared in any case."""
        blocks = list(islice(spread_blocks(self.documents, length, length, length), count))
        tokens = torch.from_numpy(np.stack([block.tokens for block in blocks]))
        positions = torch.arange(length).view(1, -1, 1)
        if self.model.config.causal:
            return Batch(tokens[:, :-1], tokens[:, 1:], positions)
        kept = [TextBlock(block.document, block.tokens[:-1]) for block in blocks]
        masked = torch.from_numpy(np.stack([choose_masks(block, number) for number, block in enumerate(kept)]))
        mask_id = self.trained.config.text_vocabulary
        return Batch(
            tokens[:, :-1].masked_fill(masked, mask_id), tokens[:, :-1].masked_fill(~masked, UNSCORED), positions
        )

    def score(self, batch: Batch, length: int) -> float | None:
        """The mean loss; none if the positions exceed what an encoding takes."""
        rows = max(1, LOGITS // (self.model.config.classes * length))
        total = 0.0
        try:
            for start in range(0, len(batch.tokens), rows):
                part = batch.rows(start, start + rows)
                with torch.inference_mode():
                    logits = self.model(part.tokens, positions=part.positions).flatten(0, 1)
                    losses = F.cross_entropy(logits, part.targets.flatten(), ignore_index=UNSCORED, reduction="sum")
                total += float(losses.double())
        except InputError:
            return None
        return total / int((batch.targets != UNSCORED).sum())

    def _can_be(self, length: int) -> bool:
        enough = sum(1 for _ in islice(spread_blocks(self.documents, length, length, length), FEWEST)) == FEWEST
        return enough and not self.refusal(length)

    def refusal(self, length: int) -> str:
        """Why an encoding cannot be used with so many tokens; empty if it can."""
        try:
            for part in self.model.parts:
                part.check_range(Positions.range(length))
        except InputError as error:
            return str(error)
        return ""


def open_subject(path: Path, data: Path | None = None, length: int | None = None) -> LanguageModelSubject:
    """Open a checkpoint with its text. Refuses, before anything is measured, what cannot be probed."""
    trained = open_trained(path)
    corpus = trained.find_corpus(data)
    length = min(LONGEST, trained.config.model.length) if length is None else length
    if length < SHORTEST:
        raise InputError(f"a model is probed with sequences of at least {SHORTEST} tokens, got {length}")
    model, trunk = read_with_trunk(trained.path.parent)
    step = trained.config.step_tokens
    norms = tuple(
        (tokens // step, norm) for tokens, norm in model.points(trunk).get("gradient_norm", [])
        if tokens <= trained.tokens
    )  # fmt: skip
    untrained = Transformer(trained.config.model, seed=trained.config.seed).eval()
    subject = LanguageModelSubject(trained, untrained, read_documents(corpus), length, norms)
    if refusal := subject.refusal(length):
        raise InputError(f"{trained.path} cannot read {length:,} tokens ({refusal}): give a smaller --length")
    if not subject._can_be(length):
        raise InputError(
            f"the validation text of {corpus.folder} has fewer than {FEWEST} sequences of {length:,} tokens: "
            "give a smaller --length"
        )
    return subject


def probe_language_model(
    subject: LanguageModelSubject, sequences: int | None = None, only: tuple[int, int] | None = None
) -> LanguageModelProbe:
    """All probes; no file is changed."""
    if sequences is not None:
        check_sequences(sequences)
    sequences = sequences or max(2 * FEWEST, TOKENS // subject.length)
    trained = subject.trained
    return LanguageModelProbe(
        **vars(probe_own_model(subject, sequences, only)), name=trained.name, sha256=trained.sha256,
        size=trained.config.size, tokens=trained.tokens, corpus=trained.config.corpus, remark=trained.undecayed_remark,
    )  # fmt: skip


def attention_maps(subject: LanguageModelSubject, tokens: int) -> list[torch.Tensor]:
    """The attention of every layer, [h, n, n], on the first tokens of one document, for pictures."""
    from ordinate.probes.attention_patterns import attention_of

    batch, maps = subject.examples(min(tokens, subject.length), 1), list[torch.Tensor]()
    assert batch.positions is not None
    attention_of(subject.model, batch.tokens, batch.positions)(lambda layer, weights: maps.append(weights[0]))
    return maps
