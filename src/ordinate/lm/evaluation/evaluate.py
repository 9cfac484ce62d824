"""Evaluates a trained language model: text, algorithmic problems, a passkey grid, and repeated random tokens."""

import json
import time
from collections.abc import Callable

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.lm.evaluation.config import EvalConfig
from ordinate.lm.evaluation.documents import read_documents
from ordinate.lm.evaluation.induction import evaluate_induction
from ordinate.lm.evaluation.masked import evaluate_masked
from ordinate.lm.evaluation.problems import evaluate_passkey, evaluate_problems
from ordinate.lm.evaluation.scaling import check_scalings, scaled
from ordinate.lm.evaluation.scorer import Scorer
from ordinate.lm.evaluation.text import EvaluationText, evaluate_targets, evaluate_text
from ordinate.lm.trained_model import TrainedModel
from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.text.corpus import Corpus

Watch = Callable[[str], None]


def evaluate(
    trained: TrainedModel, corpus: Corpus, config: EvalConfig | None = None, watch: Watch = lambda stage: None
) -> LanguageModelEvaluation:
    """Everything that the configuration names. The same model, corpus and configuration give the same numbers."""
    config = config or EvalConfig()
    check_scalings(trained, config.scaling)
    began, scorer, length = time.perf_counter(), Scorer.of(trained), trained.config.model.length
    text = EvaluationText.of(read_documents(corpus), corpus.token_bytes(), length, config.text)
    if not trained.config.model.causal:
        _check_masked(trained, config)
    read = evaluate_text if trained.config.model.causal else evaluate_masked
    contexts, positions = read(scorer, text, watch) if "text" in config.parts else ([], [])
    for kind in config.scaling:
        contexts += evaluate_targets(
            lambda context, kind=kind: scaled(trained, kind, context / length), text, watch, least=length + 1  # type: ignore[misc]
        )  # fmt: skip
    rest = (corpus, config.seed, watch)
    problems = evaluate_problems(scorer, config.problems, *rest) if "problems" in config.parts else []
    passkey = evaluate_passkey(scorer, config.passkey, *rest) if "passkey" in config.parts else []
    induction = evaluate_induction(scorer, config.induction, *rest) if "induction" in config.parts else []
    return LanguageModelEvaluation(
        name=trained.name, sha256=trained.sha256, size=trained.config.size, encoding=trained.config.encoding,
        seed=trained.config.seed, parameters=sum(weight.numel() for weight in trained.model.parameters()),
        length=length, tokens=trained.tokens, decayed=trained.decayed, remark=trained.undecayed_remark,
        past_range=scorer.past_range, mix=trained.config.mix, corpus=corpus.fingerprint,
        documents=len(text.documents), long_documents=text.long_documents, long_tokens=text.longest + 1,
        precision=trained.precision, seconds=time.perf_counter() - began,
        settings=json.loads(json.dumps(to_dict(config))), contexts=tuple(contexts), positions=tuple(positions),
        problems=tuple(problems), passkey=tuple(passkey), induction=tuple(induction),
    )  # fmt: skip


def _check_masked(trained: TrainedModel, config: EvalConfig) -> None:
    """Refuse what only models that read from left to right have."""
    if config.scaling or tuple(config.parts) != ("text",):
        raise InputError(f"{trained.path} predicts masked tokens, of which only text is evaluated: add --only text")
