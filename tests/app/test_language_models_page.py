"""The page Language models over a folder of checkpoints: finished, under way, damaged, or empty."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ordinate.app import model_samples, model_why, stores
from ordinate.app.figure_view import plain
from ordinate.core.errors import InputError
from ordinate.lm import hardware
from ordinate.lm.evaluation.config import EvalConfig, InductionConfig, TextConfig
from ordinate.lm.probed_model import open_subject, probe_language_model
from ordinate.lm.segment import SegmentBounds, announce
from ordinate.lm.stored_models import StoredModel
from ordinate.results.serialize import write
from ordinate.store import Store
from ordinate.store.claim import Claim
from ordinate.studies.lm.comparison import ModelArm
from ordinate.studies.lm.pool import do_runs
from ordinate.studies.lm.recorded import record_study
from ordinate.studies.lm.stored_runs import Checkpoints
from ordinate.studies.lm.study import LMPart, LMStudy
from ordinate.studies.lm.work import Workplace
from ordinate.text.prepare import prepare
from ordinate.text.request import request

from .conftest import draw

SMALL = {"dim": 8, "layers": 1, "heads": 1, "length": 8, "batch": 2, "warmup": 1, "vocabulary": 300}
EVALUATION = EvalConfig(
    parts=("text", "induction"),
    text=TextConfig(overall=200, tokens=200, contexts=(0.5, 1.0, 2.0, 4.0), more_contexts=(), targets=40),
    induction=InductionConfig(periods=(1.0,), sequences=2),
)
COMMAND = "ordinate lm compare --size nano --encodings rope,none --seeds 2"
ROPE = "nano_rope_256_s42"


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two encodings by two seeds, trained and evaluated by a comparison, with their text."""
    folder, source = tmp_path_factory.mktemp("language-models"), random.Random(1)
    (folder / "text").mkdir()
    for number in range(30):
        words = " ".join(source.choice(("one", "two", "three", "four")) for _ in range(source.choice((3, 30, 60))))
        (folder / "text" / f"{number:03d}.txt").write_text(f"{number}: {words}\n")
    corpus = prepare(
        request(f"text:{folder / 'text'}", vocabulary=300, valid=0.4), folder / "data" / "words", workers=0
    )
    arms = (ModelArm("rope"), ModelArm("none"))
    part = LMPart("comparison", "", "nano", arms, 2, 256, SMALL, EVALUATION)
    study, root = LMStudy("comparison", COMMAND, "nano on words", "", "", (part,)), folder / "checkpoints"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hardware, "SECONDS", 0.0)
        place = Workplace(Checkpoints(root), corpus)
        record_study(root, study, corpus.fingerprint, COMMAND)
        assert do_runs(part.comparison(corpus.fingerprint).distinct_runs, place, 0, lambda event: None) == {}
    return folder


@pytest.fixture
def nothing(own: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the checkpoints, not there yet."""
    monkeypatch.setenv(stores.CHECKPOINTS, str(tmp_path / "checkpoints"))
    monkeypatch.setenv(stores.DATA, str(tmp_path / "data"))
    return tmp_path / "checkpoints"


@pytest.fixture
def root(nothing: Path, trained: Path) -> Path:
    """The folder with the models, and their text beside it."""
    shutil.copytree(trained / "checkpoints", nothing)
    shutil.copytree(trained / "data", nothing.parent / "data")
    return nothing


def opened(**address: str) -> AppTest:
    page = draw("models", **address)
    assert not page.exception
    return page


def rows(page: AppTest) -> list[dict[str, Any]]:
    return page.dataframe[0].value.to_dict("records")  # type: ignore[no-any-return]


def charts(page: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec or chart.proto.figure.spec) for chart in page.get("plotly_chart")]


def words(page: AppTest) -> str:
    kinds = (page.subheader, page.markdown, page.caption, page.info, page.warning, page.error, page.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def test_without_models_the_commands_stand_there_and_studies_say_theirs(nothing: Path) -> None:
    page = opened()
    assert "No language model is here yet" in words(page) and "ordinate lm train --size nano" in words(page)
    assert not page.dataframe and not nothing.exists()
    page = opened(view="studies")
    assert set(page.selectbox[0].options) >= {"Masked tokens", "Context extension"}
    assert "No study" in words(opened(view="studies", study="../../etc"))


def test_models_are_listed_drawn_and_compared(root: Path) -> None:
    page = opened()
    assert {row["model"] for row in rows(page)} == {f"nano_{e}_256_s{s}" for e in ("rope", "none") for s in (42, 43)}
    assert {row["state"] for row in rows(page)} == {"done"} and all(row["reach"] for row in rows(page))
    training, validation, *evaluated = charts(page)
    assert {trace["name"] for trace in training["data"]} == {row["model"] for row in rows(page)}
    assert training["data"][0]["x"][-1] == 256 and len(validation["data"]) == 4
    assert len(evaluated) >= 4
    assert "At the trained length" in words(page) and "tests encodings over their seeds" in words(page)
    assert any(row["state"] == "trunk" for row in rows(opened(trunks="true")))
    assert {row["encoding"] for row in rows(opened(named="rope"))} == {"rope"}


def test_seeds_are_drawn_together_in_the_color_of_their_encoding(root: Path) -> None:
    page = opened(group="true")
    for chart in charts(page)[:3]:
        assert [t["name"] for t in chart["data"] if t["showlegend"]] == ["none", "rope"] or (
            {t["name"] for t in chart["data"] if t["showlegend"]} == {"none", "rope"}
        )
        assert sum("seeds" in t["meta"]["name"] for t in chart["data"]) == 2
    each = {t["name"]: t["line"]["color"] for t in charts(opened())[0]["data"]}
    assert each[ROPE] == each["nano_rope_256_s43"] != each["nano_none_256_s42"]


def test_one_model_in_full(root: Path) -> None:
    page = opened(model=ROPE)
    assert len(charts(page)[0]["data"]) == 1 and "ordinate probe" in words(page)
    assert "On the same" in words(page) and "Past the trained length" in words(page)
    page.segmented_control(key="measure").set_value("bits per byte").run()
    assert charts(page)[1]["layout"]["yaxis"]["title"]["text"] == "bits per byte" and not page.exception


def test_what_is_not_evaluated_has_its_command(root: Path) -> None:
    for path in (root / ROPE).glob("eval*.json"):
        path.unlink()
    page = opened()
    assert f"ordinate lm eval {root / ROPE}" in words(page) and "1 more model is not evaluated" in words(page)
    assert "It is not evaluated yet" in words(opened(model=ROPE))


def test_names_are_looked_up_and_shown_as_text(root: Path) -> None:
    for name in ("../../etc", "<b>x</b>", f"{ROPE}/../{ROPE}"):
        page = opened(model=name)
        assert page.error[0].value.startswith(f"No model {plain(name[:10])[:8]}") and not charts(page)
    shutil.copytree(root / ROPE, root / "*x* <b>")
    page = opened(model="*x* <b>")
    assert not page.error and len(charts(page)) > 2
    assert "*x* <b>" not in "".join(str(element.value) for element in page.markdown)


@pytest.mark.parametrize("name", ["run.json", "result.json", "metrics.jsonl", "segment.json", "eval"])
@pytest.mark.parametrize("content", ["{\n", "[1]\n", "\x00\xff\n"])
def test_a_damaged_file_is_named_and_the_others_are_shown(root: Path, name: str, content: str) -> None:
    path = next((root / ROPE).glob("eval*.json")) if name == "eval" else root / ROPE / name
    path.write_text(content)
    page = opened()
    assert len(rows(page)) >= 3 and len(charts(page)) >= 2
    if name in ("run.json", "result.json", "metrics.jsonl"):
        assert any("damaged" in error.value for error in page.error)


def test_a_model_under_way_is_watched(root: Path) -> None:
    folder = root / ROPE
    (folder / "result.json").unlink()
    announce(folder, SegmentBounds(14, 40))
    claim = Claim(folder / "claim")
    with claim.locked() as lock:
        assert claim.take(lock)
    page = opened()
    assert f"Training: {ROPE}" in words(page).replace("**", "")
    (bar,) = page.get("progress")
    assert bar.proto.value == 40 and "step 16 of 40" in bar.proto.text.replace("\\", "")
    assert rows(page)[0]["model"] == ROPE and rows(page)[0]["state"] == "running"
    assert any("under way" in trace["meta"]["name"] for trace in charts(page)[0]["data"])
    claim.free()
    page.run()
    assert not page.get("progress") and not page.exception


def test_a_comparison_of_ones_own_is_among_the_studies(root: Path) -> None:
    page = opened(view="studies")
    assert page.selectbox[0].options[0] == "nano on words: rope, none, 2 seeds"
    assert "none" in words(page) and COMMAND in words(page) and len(charts(page)) == 3
    for path in (root / ROPE).glob("eval*.json"):
        path.unlink()
    page = opened(view="studies")
    assert page.get("progress")[0].proto.text == "3 of 4 runs done" and "Still to be run" in words(page)
    next((root / ".comparisons").glob("*.json")).write_text("{}")
    assert "damaged" in opened(view="studies").warning[0].value


def test_a_sample_is_written_by_a_process(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = root.parent / "data" / "words"
    text, remark = model_samples.written(root / ROPE, 0, corpus, "-one\ntwo", 12, 0.0, 0)
    assert isinstance(text, str) and "past the trained length" in remark
    refused = subprocess.CompletedProcess([], 2, "", "a line\nordinate: no such text\n")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **more: refused)
    with pytest.raises(InputError, match="no such text"):
        model_samples.written(root / ROPE, 1, corpus, "one", 4, 0.0, 0)
    monkeypatch.setattr(model_samples, "written", lambda *arguments: ("and <b> so on", ""))
    page = opened(model=ROPE)
    page.text_area[0].set_value("one ")
    page.button[-1].click().run()
    assert "one and <b> so on" in [code.value for code in page.code] and not page.exception


def test_the_probes_of_a_model_are_made_on_a_button(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(model: StoredModel) -> None:
        subject = open_subject(model.folder, root.parent / "data" / "words")
        (model.folder / model_why.FILE).write_text(json.dumps(write(probe_language_model(subject, 4))))

    monkeypatch.setattr(model_why, "start", start)
    page = opened(model=ROPE)
    page.button(key="probe-model").click().run()
    assert "of loss in nats per token" in words(page) and not page.exception
    path = root / ROPE / model_why.FILE
    path.write_text(path.read_text().replace('"sha256": "', '"sha256": "0'))  # of other weights
    assert opened(model=ROPE).button(key="probe-model")
