"""One run: data, training, evaluation, and what is kept of it."""

from ordinate.training.config import RunConfig, resolve
from ordinate.training.loop import attempt, train
from ordinate.training.progress import Progress

__all__ = ["Progress", "RunConfig", "attempt", "resolve", "train"]
