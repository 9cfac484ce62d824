"""A trained model as a folder for others: the same logits and tokens there, and a card that says what it is."""

import json
import re
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from ordinate import load_exported
from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.config import Options
from ordinate.lm.export import export
from ordinate.lm.generation import continue_text
from ordinate.lm.model_card import Loading
from ordinate.lm.trained_model import TrainedModel, open_trained
from ordinate.text.corpus import Corpus

from .small import DEVICE, decay, small_config

TEXT = "12: one two <|end|> é"


@pytest.fixture(scope="module", params=["rope", "binary(scale_tokens=true)"])
def trained(request: pytest.FixtureRequest, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    config = small_config(corpus, request.param)
    planned = branches(config, [8 * config.step_tokens], decay)
    root = tmp_path_factory.mktemp("trained") / "checkpoints"
    (folder,) = BranchedTraining(config, corpus, root, Options(device=DEVICE)).run(planned)
    return open_trained(folder)


@torch.no_grad()
def test_transformers_loads_the_model_and_its_tokenizer(
    trained: TrainedModel, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself where it has the encoding, otherwise with the file that the folder brings."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    loading = export(trained, corpus, tmp_path / "made")
    attached = trained.config.encoding != "rope"
    assert loading == ("attached" if attached else "transformers")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "made", trust_remote_code=attached).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "made")
    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    assert ids[0].tolist() == corpus.encode(TEXT)
    assert tokenizer.decode(ids[0], skip_special_tokens=True) == TEXT
    torch.testing.assert_close(model(ids).logits, trained.model(ids), atol=1e-4, rtol=1e-4)
    assert model.generate(ids, max_new_tokens=3, do_sample=False).shape[1] > ids.shape[1]


@torch.no_grad()
def test_plain_files_are_loaded_by_ours(trained: TrainedModel, corpus: Corpus, tmp_path: Path) -> None:
    assert export(trained, corpus, tmp_path / "made", "safetensors") == "safetensors"
    ids = torch.tensor([corpus.encode(TEXT)])
    assert torch.equal(load_exported(tmp_path / "made")(ids), trained.model(ids))
    assert json.loads((tmp_path / "made" / "config.json").read_text())["corpus"] == corpus.fingerprint


@pytest.mark.parametrize("form", ["transformers", "safetensors"])
def test_the_card_says_what_it_is_and_its_code_runs(
    trained: TrainedModel, corpus: Corpus, tmp_path: Path, form: Loading, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    export(trained, corpus, tmp_path / "made", form)  # type: ignore[arg-type]
    card = (tmp_path / "made" / "README.md").read_text()
    for fact in (f"`{trained.config.encoding}`", corpus.fingerprint, "512 tokens of `text`", "bits per byte"):
        assert fact in card
    (code,) = re.findall(r"^```python\n(.*?)^```", card, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "card", "exec"), {})
    assert "The" in capsys.readouterr().out


def test_a_folder_is_whole_or_not_there(
    trained: TrainedModel, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(InputError, match="exists already"):
        export(trained, corpus, tmp_path / "taken")
    with pytest.raises(InputError, match="there is no folder"):
        export(trained, corpus, tmp_path / "no" / "where")
    monkeypatch.setattr("ordinate.lm.export.model_card", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export(trained, corpus, tmp_path / "half")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_texts_are_continued_the_same_for_the_same_seed(trained: TrainedModel, corpus: Corpus) -> None:
    greedy = continue_text(trained, corpus, "1: one", 6)
    assert greedy == continue_text(trained, corpus, "1: one", 6, seed=5)
    assert len(greedy.tokens) <= 6 and corpus.decode(greedy.tokens) == greedy.text
    sampled = [continue_text(trained, corpus, "1: one", 20, temperature=1.0, seed=seed).text for seed in (1, 1, 2)]
    assert sampled[0] == sampled[1] != sampled[2]
    assert continue_text(trained, corpus, "1: one", 20, temperature=1.0, seed=1).past_trained >= 0


def test_an_encoding_that_ends_says_so(corpus: Corpus, tmp_path: Path) -> None:
    config = small_config(corpus, "learned")
    planned = branches(config, [8 * config.step_tokens], decay)
    (folder,) = BranchedTraining(config, corpus, tmp_path, Options(device=DEVICE)).run(planned)
    with pytest.raises(InputError, match="learned reads 16 at most: ask for fewer tokens"):
        continue_text(open_trained(folder), corpus, "1: one", 60)
