"""Language models are probed as runs of tasks are: on text, with costs in nats per token, and nothing is written."""

import hashlib
import json
import math
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.config import Options
from ordinate.lm.probed_model import LanguageModelSubject, open_subject, probe_language_model
from ordinate.report.model_probe_words import model_lines
from ordinate.report.probe_report import language_model_report
from ordinate.results.serialize import write
from ordinate.text.corpus import Corpus
from ordinate.text.prepare import prepare
from ordinate.text.request import request

from .small import DEVICE, decay, small_config


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Documents whose next letter follows from the one before the last: a model needs to know where letters are."""
    folder = tmp_path_factory.mktemp("counting")
    (folder / "text").mkdir()
    for number in range(60):
        letters = [chr(97 + number % 5), chr(97 + number % 7)]
        while len(letters) < 80:
            letters.append(chr(97 + (ord(letters[-2]) - 97 + 1) % 7))
        (folder / "text" / f"{number:03d}.txt").write_text(f"{number}" + "".join(letters))
    return prepare(request(f"text:{folder / 'text'}", vocabulary=260, valid=0.3), folder / "made", workers=0)


def subject(corpus: Corpus, root: Path, encoding: str, steps: int = 200, **settings: object) -> LanguageModelSubject:
    more = {"vocabulary": 260, "lr": 0.01, "batch": 8, **settings}
    config = small_config(corpus, encoding, **more)
    planned = branches(config, [steps * config.step_tokens], decay)
    (folder,) = BranchedTraining(config, corpus, root, Options(device=DEVICE, valid_tokens=64)).run(planned)
    return open_subject(folder, corpus.folder)


@pytest.fixture(scope="module")
def learned(counting: Corpus, tmp_path_factory: pytest.TempPathFactory) -> LanguageModelSubject:
    return subject(counting, tmp_path_factory.mktemp("probed"), "rope")


def test_what_positions_are_worth_is_told_in_nats(learned: LanguageModelSubject) -> None:
    probe = probe_language_model(learned, 16)
    costs = {each.name: each.cost for each in probe.interventions if each.kind == "positions"}
    assert costs.keys() == {"permute", "shift past", "shift within", "freeze", "off"}
    assert costs["permute"] > 0.3 and costs["off"] > 0.3  # type: ignore[operator]
    assert abs(costs["shift past"]) < 0.01  # type: ignore[arg-type] # rope is relative
    assert all(each.lower_is_better for each in probe.interventions) and probe.learned
    said = dict(model_lines(probe))
    assert said["What costs what"].startswith("of loss in nats per token") and "relative ones" in said["Uses positions"]
    assert len(probe.heads) == 4 and len(probe.layers) == 3 and probe.lengths == (16, 32)
    assert probe.gradient_norms and probe.gradient_norms[-1][0] == 200
    content = json.loads(json.dumps(write(probe), allow_nan=False))
    assert content["name"] == "nano_rope_25.6k_s42" and len(content["sha256"]) == 64


def test_the_score_is_the_loss_of_the_text(learned: LanguageModelSubject) -> None:
    batch = learned.examples(16, 8)
    with torch.inference_mode():
        wanted = F.cross_entropy(learned.model(batch.tokens).flatten(0, 1), batch.targets.flatten())
    assert learned.score(batch, 16) == pytest.approx(float(wanted), rel=1e-5)
    assert torch.equal(batch.tokens[:, 1:], batch.targets[:, :-1]) and (batch.tokens[:, 0] == 0).all()


def test_an_encoding_that_ends_has_no_cost_past_its_end(counting: Corpus, tmp_path: Path) -> None:
    found = subject(counting, tmp_path, "learned", steps=20)
    probe = probe_language_model(found, 8, (1, 2))
    past = probe.intervention("shift past")
    assert past is not None and past.after is None and probe.lengths == (16,)
    assert [(head.layer, head.head) for head in probe.heads] == [(1, 2)]
    assert next(topic for topic, _ in language_model_report(probe, found).lines) == "Does"


def test_a_model_of_masked_tokens_is_scored_on_these(counting: Corpus, tmp_path: Path) -> None:
    found = subject(counting, tmp_path, "rope", steps=20, causal=False)
    batch = found.examples(16, 8)
    scored = batch.targets != -100
    assert (batch.tokens[scored] == 260).all() and (scored.sum(dim=1) == 2).all()
    assert found.score(batch, 16) == pytest.approx(math.log(261), abs=3)
    assert probe_language_model(found, 8).interventions[0].cost is not None


def test_probing_changes_no_file(learned: LanguageModelSubject) -> None:
    def seen() -> dict[str, str]:
        files = learned.trained.path.parent.parent.rglob("*")
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()}

    before = seen()
    probe_language_model(learned, 4)
    assert seen() == before and len(before) > 5


def test_bad_input_is_a_sentence(learned: LanguageModelSubject, counting: Corpus) -> None:
    folder = learned.trained.path.parent
    with pytest.raises(InputError, match="at least 8 tokens, got 3"):
        open_subject(folder, counting.folder, 3)
    with pytest.raises(InputError, match=r"fewer than 4 sequences of 500 tokens: give a smaller --length"):
        open_subject(folder, counting.folder, 500)
    with pytest.raises(InputError, match="at least 4 sequences"):
        probe_language_model(learned, 2)
    with pytest.raises(InputError, match="there is no file"):
        open_subject(folder / "nothing.pt", counting.folder)
