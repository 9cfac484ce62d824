"""Evaluations as files: beside the checkpoint that they are of, one for every configuration."""

from pathlib import Path

from ordinate.lm.evaluation.config import EvalConfig
from ordinate.lm.trained_model import TrainedModel
from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.store.documents import read_document, write_document

NAME = "eval"


def evaluation_path(trained: TrainedModel, config: EvalConfig) -> Path:
    """Beside the checkpoint."""
    return trained.path.parent / evaluation_name(config, trained.path.stem)


def evaluation_name(config: EvalConfig, checkpoint: str = "latest") -> str:
    """`eval.json` for the default configuration and `latest.pt`; other names for others, so that nothing is lost."""
    of = "" if checkpoint == "latest" else f"_{checkpoint}"
    settings = "" if config.id == EvalConfig().id else f"_{config.id[:6]}"
    return f"{NAME}{of}{settings}.json"


def read_evaluation(path: Path) -> LanguageModelEvaluation:
    return read_document(LanguageModelEvaluation, path, "evaluation")


def write_evaluation(path: Path, evaluation: LanguageModelEvaluation) -> None:
    write_document(path, evaluation)


def stored_evaluation(path: Path, trained: TrainedModel) -> LanguageModelEvaluation | None:
    """The one in a file, if it is of this checkpoint as it is now."""
    if not path.exists():
        return None
    found = read_evaluation(path)
    return found if found.sha256 == trained.sha256 else None
