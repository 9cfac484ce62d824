"""One run: data, training, evaluation, and its stored result."""

from ordinate.training.config import RunConfig, resolve
from ordinate.training.progress import Progress
from ordinate.training.trainer import attempt, train

__all__ = ["Progress", "RunConfig", "attempt", "resolve", "train"]
