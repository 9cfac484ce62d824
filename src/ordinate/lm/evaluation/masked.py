"""Losses of masked tokens of validation text, by context: what a bidirectional model is trained for."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ordinate.core.seeds import seed_of
from ordinate.lm.config import MASKED
from ordinate.lm.evaluation.documents import TextBlock
from ordinate.lm.evaluation.scorer import BATCH, Scorer, Tokens
from ordinate.lm.evaluation.text import EvaluationText
from ordinate.lm.loss import token_losses
from ordinate.results.lm_evaluation import ContextRow, DocumentSet, PositionRow


def evaluate_masked(
    scorer: Scorer, text: EvaluationText, watch: Callable[[str], None]
) -> tuple[list[ContextRow], list[PositionRow]]:
    """The same masked tokens at every context, in windows that restart."""
    length = text.trained
    rows = [_row(scorer, text, text.all_documents(), "all", length)]
    for context in sorted({max(1, round(multiple * length)) for multiple in text.config.contexts}):
        watch(f"masked tokens in windows of {context:,}")
        rows.append(_row(scorer, text, text.blocks(), "long", context))
    return rows, []


def _row(scorer: Scorer, text: EvaluationText, blocks: list[TextBlock], kind: DocumentSet, context: int) -> ContextRow:
    reason = scorer.refusal(context) or (text.missing if kind == "long" and context > text.longest else "")
    if reason:
        return ContextRow("disjoint", kind, context, context, scorer.scaling, None, reason)
    masks = [choose_masks(block, number) for number, block in enumerate(blocks)]
    losses = masked_losses(scorer, blocks, masks, context)
    targets = [block.tokens[mask] for block, mask in zip(blocks, masks, strict=True)]
    sums = text.sums(blocks, losses, [np.ones(len(own), bool) for own in losses], targets)
    return ContextRow("disjoint", kind, context, context, scorer.scaling, sums)


def choose_masks(block: TextBlock, number: int) -> NDArray[np.bool_]:
    """Which tokens of a block are masked; its first one, where a document may begin, is not."""
    source, size = np.random.default_rng(seed_of(0, "evaluation mask", number)), len(block.tokens)
    mask = np.zeros(size, bool)
    mask[1 + source.permutation(size - 1)[: max(1, round(MASKED * (size - 1)))]] = True
    return mask


def masked_losses(
    scorer: Scorer, blocks: Sequence[TextBlock], masks: Sequence[NDArray[np.bool_]], context: int
) -> list[NDArray[np.float64]]:
    """The losses of each block's masked tokens, in their order."""
    found = [np.zeros(len(block.tokens)) for block in blocks]
    pieces = [(number, start) for number, block in enumerate(blocks) for start in range(0, len(block.tokens), context)]
    alike: dict[int, list[tuple[int, int]]] = {}
    for number, start in pieces:
        alike.setdefault(min(context, len(blocks[number].tokens) - start), []).append((number, start))
    for size, own in alike.items():
        step = max(1, BATCH // size)
        for batch in (own[at : at + step] for at in range(0, len(own), step)):
            tokens: Tokens = np.stack([blocks[number].tokens[start : start + size] for number, start in batch])
            mask = np.stack([masks[number][start : start + size] for number, start in batch])
            for (number, start), losses in zip(batch, _losses(scorer, tokens, mask), strict=True):
                found[number][start : start + size] = losses
    return [losses[mask] for losses, mask in zip(found, masks, strict=True)]


def _losses(scorer: Scorer, tokens: Tokens, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of the masked tokens of some rows; 0 elsewhere."""
    trained = scorer.trained
    whole, chosen = (torch.from_numpy(part).to(trained.device) for part in (tokens, mask))
    with torch.no_grad(), trained.autocast():
        states = scorer.model.states(whole.masked_fill(chosen, trained.config.text_vocabulary))
        losses = token_losses(states[chosen], scorer.model.unembedding, whole[chosen])
    result = np.zeros(tokens.shape)
    result[mask] = losses.double().cpu().numpy()
    return result
