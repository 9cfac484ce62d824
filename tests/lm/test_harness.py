"""The adapter for lm-eval, on tasks made here: scores are those of the model itself, token by token."""

from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.config import Options
from ordinate.lm.generation import continue_text
from ordinate.text.corpus import Corpus

from .small import DEVICE, decay, small_config

lm_eval = pytest.importorskip("lm_eval", reason="an extra of its own: pip install 'ordinate[lm-eval]'")
LENGTH = 16  # the trained one
WORDS = [{"text": f"{n}: one two", "choices": [" one", " two three", " x"], "answer": n % 3} for n in range(5)]
LONG = [{"text": "7: " + "one two three " * n} for n in (1, 13)]


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from ordinate.lm.harness import HarnessModel

    config, root = small_config(corpus, "alibi"), tmp_path_factory.mktemp("trained")
    planned = branches(config, [30 * config.step_tokens], decay)
    (folder,) = BranchedTraining(config, corpus, root, Options(device=DEVICE)).run(planned)
    return HarnessModel(folder, data=corpus.folder, device=DEVICE)


def run(model: Any, rows: list[dict[str, Any]], **task: Any) -> dict[str, Any]:
    """A task over these rows, evaluated by the harness."""
    import datasets

    config = dict(
        task="made", custom_dataset=lambda **_: {"test": datasets.Dataset.from_list(rows)}, test_split="test",
        doc_to_text="{{text}}", num_fewshot=0, **task,
    )  # fmt: skip
    found = lm_eval.simple_evaluate(model=model, tasks=[config], bootstrap_iters=0, log_samples=True)
    return dict(found)


@torch.no_grad()
def likelihood(model: Any, context: list[int], continuation: list[int]) -> tuple[float, bool]:
    tokens = torch.tensor([[*context, *continuation]][:1])
    rows = model.trained.model(tokens[:, :-1])[0, -len(continuation) :].log_softmax(dim=-1)
    targets = tokens[0, -len(continuation) :]
    return float(rows.gather(1, targets[:, None]).sum()), bool((rows.argmax(dim=1) == targets).all())


def test_a_choice_is_scored_as_the_model_does(model: Any) -> None:
    found = run(
        model, WORDS, output_type="multiple_choice", doc_to_choice="{{choices}}", doc_to_target="answer",
        metric_list=[{"metric": "acc"}], target_delimiter="",
    )  # fmt: skip
    samples, right = found["samples"]["made"], 0
    assert len(samples) == len(WORDS)
    for sample in samples:
        expected = []
        for choice, (answer,) in zip(sample["doc"]["choices"], sample["resps"], strict=True):
            context = model.corpus.encode(sample["doc"]["text"])
            whole = model.corpus.encode(sample["doc"]["text"] + choice)
            expected.append(likelihood(model, context, whole[len(context) :]))
            assert float(answer[0]) == pytest.approx(expected[-1][0], abs=1e-4)
            assert bool(answer[1]) == expected[-1][1]
        right += max(range(3), key=lambda n: expected[n][0]) == sample["doc"]["answer"]
    assert found["results"]["made"]["acc,none"] == pytest.approx(right / len(WORDS))


def test_long_texts_are_rolled_over_each_token_once(model: Any) -> None:
    found = run(
        model, LONG, output_type="loglikelihood_rolling", doc_to_target="{{text}}",
        metric_list=[{"metric": "bits_per_byte"}],
    )  # fmt: skip
    for sample in found["samples"]["made"]:
        tokens, total, at = [0, *model.tok_encode(sample["doc"]["text"], add_special_tokens=False)], 0.0, 1
        while at < len(tokens):  # windows of the trained length, the last one as full as the others
            stop = min(at + LENGTH, len(tokens))
            total += likelihood(model, tokens[max(0, stop - 1 - LENGTH) : at], tokens[at:stop])[0]
            at = stop
        assert float(sample["resps"][0][0]) == pytest.approx(total, abs=1e-3)
    assert len(model.corpus.encode(LONG[1]["text"])) > 2 * LENGTH


def test_texts_are_continued_up_to_a_stop(model: Any) -> None:
    settings: dict[str, Any] = dict(until=["\n"], max_gen_toks=4, do_sample=False)
    found = run(
        model, WORDS, output_type="generate_until", doc_to_target="{{text}}", generation_kwargs=settings,
        metric_list=[{"metric": "exact_match"}],
    )  # fmt: skip
    for sample in found["samples"]["made"]:
        text = continue_text(model.trained, model.corpus, sample["doc"]["text"], 4).text
        assert sample["resps"][0][0] == text.partition("\n")[0]


def test_what_it_cannot_do_is_one_sentence(model: Any) -> None:
    from ordinate.lm.harness import HarnessModel

    with pytest.raises(InputError, match="are read at once: raise max_length"):
        model._loglikelihood_tokens([(None, [0], [5] * (LENGTH + 1))])
    with pytest.raises(InputError, match=r"generation takes .* got penalty"):
        model._continue("1:", {"penalty": 2}, 0)
    assert lm_eval.api.registry.get_model("ordinate") is HarnessModel
    folder: Path = model.trained.path.parent
    assert HarnessModel(folder, data=model.corpus.folder, max_length=64).max_length == 64
