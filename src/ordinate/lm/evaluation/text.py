"""Losses of validation text: by context in disjoint and sliding windows, by position, and on the same targets."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ordinate.lm.evaluation.config import TextConfig
from ordinate.lm.evaluation.documents import TextBlock, first_tokens, spread_blocks
from ordinate.lm.evaluation.scorer import Scorer, Tokens, WindowedText
from ordinate.lm.evaluation.windows import Window, rolling_windows, target_windows
from ordinate.results.lm_evaluation import ContextRow, DocumentSet, PositionRow, WindowProtocol
from ordinate.statistics.document_losses import DocumentLosses

LEAST_DOCUMENTS = 2  # that a context is evaluated on: one gives no error
Watch = Callable[[str], None]


@dataclass(frozen=True)
class EvaluationText:
    """The same blocks of text for every protocol and every context."""

    trained: int  # length
    config: TextConfig
    token_bytes: NDArray[np.int64]
    documents: list[Tokens]
    missing: str  # why there are no long documents; empty: there are
    longest: int  # context that documents are long enough for

    @staticmethod
    def of(
        documents: list[Tokens], token_bytes: NDArray[np.int64], trained: int, config: TextConfig
    ) -> "EvaluationText":
        """With the longest of the requested contexts that enough documents have room for."""
        contexts = sorted(_tokens(trained, (*config.contexts, *config.more_contexts)))
        lengths = sorted((len(tokens) for tokens in documents), reverse=True)
        room = lengths[LEAST_DOCUMENTS - 1] - 1 if len(lengths) >= LEAST_DOCUMENTS else 0
        fitting = [context for context in contexts if context <= room]
        missing = (
            f"fewer than {LEAST_DOCUMENTS} of {len(documents):,} validation documents have more tokens than that "
            f"(the longest: {lengths[0] if lengths else 0:,})"
        )
        return EvaluationText(trained, config, token_bytes, documents, missing, fitting[-1] if fitting else 0)

    @property
    def long_documents(self) -> int:
        return sum(len(tokens) > self.longest for tokens in self.documents) if self.longest else 0

    @property
    def targets(self) -> int:
        """Tokens at the end of a block that are scored at every context."""
        return max(1, min(self.trained, self.longest) // 2)

    def blocks(self) -> list[TextBlock]:
        """For windows: up to two of the longest context, so that these can slide."""
        found: list[TextBlock] = []
        left = self.config.tokens
        if self.longest:
            for block in spread_blocks(self.documents, self.longest, 2 * self.longest, 2 * self.longest):
                if found and left < len(block.tokens) - 1:
                    break
                found.append(block)
                left -= len(block.tokens) - 1
        return found

    def target_blocks(self) -> list[TextBlock]:
        """For the same targets: their last tokens, which do not overlap."""
        count = max(1, self.config.targets // self.targets)
        blocks = spread_blocks(self.documents, self.longest, self.longest, self.targets) if self.longest else iter(())
        return list(islice(blocks, count))

    def all_documents(self) -> list[TextBlock]:
        return first_tokens(self.documents, self.config.overall)

    def sums(
        self, blocks: Sequence[TextBlock], losses: Sequence[NDArray[np.float64]],
        kept: Sequence[NDArray[np.bool_]], targets: Sequence[Tokens],
    ) -> DocumentLosses:  # fmt: skip
        """Sums by document of the kept targets."""
        numbers = sorted({block.document for block in blocks})
        at = {number: index for index, number in enumerate(numbers)}
        loss, tokens, size = np.zeros(len(at)), np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        for block, values, keep, wanted in zip(blocks, losses, kept, targets, strict=True):
            index = at[block.document]
            loss[index] += values[keep].sum()
            tokens[index] += int(keep.sum())
            size[index] += int(self.token_bytes[wanted[keep]].sum())
        return DocumentLosses(tuple(loss.tolist()), tuple(tokens.tolist()), tuple(size.tolist()))


def evaluate_text(scorer: Scorer, text: EvaluationText, watch: Watch) -> tuple[list[ContextRow], list[PositionRow]]:
    """All protocols with the encoding as trained."""
    length = text.trained
    rows = [_windows(scorer, text, text.all_documents(), "disjoint", "all", length, length)[0]]
    inside: list[PositionRow] = []  # from windows of the trained length, which are many
    beyond: list[PositionRow] = []  # from windows of the longest context
    for context in _tokens(length, text.config.contexts):
        strides = {"disjoint": context, "sliding": max(1, round(text.config.stride * context))}
        for protocol, stride in ((windows, strides[windows]) for windows in text.config.windows):
            watch(f"{protocol} windows of {context:,} tokens")
            row, losses = _windows(scorer, text, text.blocks(), protocol, "long", context, stride)  # type: ignore[arg-type]
            rows.append(row)
            if protocol == "disjoint" and losses:
                by_position = position_rows(text, context, losses)
                inside = by_position if context <= length else inside
                beyond = [row for row in by_position if row.first > length]
    return rows + evaluate_targets(lambda context: scorer, text, watch), inside + beyond


def _windows(
    scorer: Scorer, text: EvaluationText, blocks: list[TextBlock], protocol: WindowProtocol, documents: DocumentSet,
    context: int, stride: int,
) -> tuple[ContextRow, list[NDArray[np.float64]]]:  # fmt: skip
    """Every token of every block once, and the losses of each block's targets in their order."""
    reason = scorer.refusal(context) or (text.missing if documents == "long" and context > text.longest else "")
    if reason:
        return ContextRow(protocol, documents, context, stride, scorer.scaling, None, reason), []
    windows = [rolling_windows(len(block.tokens), context, stride) for block in blocks]
    losses = _by_block(scorer, blocks, windows)
    targets = [block.tokens[1:] for block in blocks]
    sums = text.sums(blocks, losses, [np.ones(len(row), bool) for row in losses], targets)
    return ContextRow(protocol, documents, context, stride, scorer.scaling, sums), losses


def evaluate_targets(
    scorer_at: Callable[[int], Scorer], text: EvaluationText, watch: Watch, least: int = 0
) -> list[ContextRow]:
    """The same target tokens at every context of at least `least` tokens: all of them, and those that need the
    context. Each has at least half of the context before it."""
    config, blocks = text.config, text.target_blocks()
    contexts = [c for c in _tokens(text.trained, (*config.contexts, *config.more_contexts)) if c >= least]
    everything = [np.ones(text.targets, bool) for _ in blocks]
    kept = key_targets(Scorer.of(scorer_at(text.trained).trained), text, blocks) if blocks else []
    targets = [block.tokens[-text.targets :] for block in blocks]
    rows = []
    for context in contexts:
        scorer = scorer_at(context)
        watch(f"the same targets in windows of {context:,} tokens {scorer.scaling}".rstrip())
        stride = min(text.targets, max(1, context // 2))
        reason = scorer.refusal(context) or (text.missing if context > text.longest else "")
        losses = [] if reason else target_losses(scorer, text, blocks, context)
        for protocol, keep in (("same targets", everything), ("key tokens", kept)):
            sums = None if reason else text.sums(blocks, losses, keep, targets)
            rows.append(ContextRow(protocol, "long", context, stride, scorer.scaling, sums, reason))  # type: ignore[arg-type]
    return rows


def target_losses(
    scorer: Scorer, text: EvaluationText, blocks: list[TextBlock], context: int
) -> list[NDArray[np.float64]]:
    """The losses of the last tokens of each block at one context."""
    stride = min(text.targets, max(1, context // 2))
    stop = text.longest + 1
    windows = [target_windows(stop - text.targets, stop, context, stride) for _ in blocks]
    return _by_block(scorer, blocks, windows)


def key_targets(scorer: Scorer, text: EvaluationText, blocks: list[TextBlock]) -> list[NDArray[np.bool_]]:
    """The share of the targets whose loss falls most from an eighth to half of the trained length (LongPPL's idea).

    Both contexts are within the trained length and neither is one that is compared, so that the choice does not favor
    the losses at the trained length.
    """
    short, long = (
        target_losses(scorer, text, blocks, max(2, min(text.trained, text.longest) // part)) for part in (8, 2)
    )
    drops = [before - after for before, after in zip(short, long, strict=True)]
    least = np.quantile(np.concatenate(drops), 1 - text.config.key_share)
    return [drop >= least for drop in drops]


def position_rows(text: EvaluationText, context: int, losses: Sequence[NDArray[np.float64]]) -> list[PositionRow]:
    """Losses of disjoint windows by the number of tokens before each target, in buckets that grow."""
    blocks = text.blocks()
    targets = [block.tokens[1:] for block in blocks]
    before = [np.arange(len(row)) % context + 1 for row in losses]
    rows = []
    for first, last in buckets(context, text.trained):
        kept = [(first <= count) & (count <= last) for count in before]
        rows.append(PositionRow(context, first, last, text.sums(blocks, losses, kept, targets)))
    return rows


def buckets(context: int, trained: int) -> list[tuple[int, int]]:
    """Ranges of positions from 1 to the context, two for every doubling; one of them ends at the trained length."""
    steps = range(-2 * context.bit_length(), 2 * context.bit_length())
    edges = {round(trained * 2 ** (step / 2)) for step in steps}
    ends = sorted({edge for edge in edges if 1 <= edge < context} | {context})
    return [(before + 1, end) for before, end in zip([0, *ends], ends, strict=False)]


def _by_block(
    scorer: Scorer, blocks: Sequence[TextBlock], windows: Sequence[list[Window]]
) -> list[NDArray[np.float64]]:
    """The losses of each block's windows, joined."""
    pieces = [WindowedText(block.tokens, window) for block, own in zip(blocks, windows, strict=True) for window in own]
    losses: Iterator[NDArray[np.float64]] = iter(scorer.losses(pieces))
    return [np.concatenate([next(losses) for _ in own]) for own in windows]


def _tokens(trained: int, multiples: Sequence[float]) -> list[int]:
    """Contexts in tokens, from short to long, each once."""
    return sorted({max(2, round(trained * multiple)) for multiple in multiples})
