"""What an evaluation costs, beside the training that it follows."""

from collections.abc import Sequence

from ordinate.lm.evaluation.config import EvalConfig
from ordinate.studies.lm.comparison import ModelRun

FORWARD = 3.0  # times as many tokens are read in evaluation as are trained on in the same time


def evaluation_cost(run: ModelRun) -> float:
    """In tokens of training."""
    return _tokens_read(run.evaluation, run.config.model.length) / FORWARD


def _tokens_read(config: EvalConfig, length: int) -> int:
    """About how many tokens an evaluation of text reads; the rest of it is small."""
    text = config.text
    overlap = {"disjoint": 1.0, "sliding": 1 / text.stride}
    windows = sum(overlap[kind] for kind in text.windows) * len(text.contexts) * text.tokens
    scored = max(1, length // 2)
    targets = sum(text.targets * max(2.0, multiple * length / scored) for multiple in _multiples(text.contexts, config))
    return round(text.overall + windows + targets)


def _multiples(contexts: Sequence[float], config: EvalConfig) -> list[float]:
    """Contexts of the same targets, those past the trained length once more for each scaling."""
    every = sorted({*contexts, *config.text.more_contexts})
    return every + [multiple for multiple in every if multiple > 1] * len(config.scaling)
