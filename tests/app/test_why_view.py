"""Why a run, a comparison and an encoding do what they do: a button first, then what was found."""

import sys
from collections.abc import Sequence

import pytest
from streamlit.testing.v1 import AppTest

from ordinate.app import probing
from ordinate.probes import records, worker
from ordinate.store import Run, Store
from ordinate.studies import study_store

from .conftest import draw
from .kept_runs import run as kept_run


def words(at: AppTest) -> str:
    """All texts, without the backslashes that keep them plain."""
    kinds = (at.markdown, at.caption, at.info, at.warning, at.error)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def reported(store: Store) -> list[Run]:
    return [run for run in store.runs() if run.config["seed"] == 1]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes are made where they are asked for, in place of a process of their own."""
    monkeypatch.setattr(probing, "start", lambda runs: [records.whole_probe(run) for run in runs])


def test_a_run_is_probed_on_a_button_and_read_from_then_on(filled: Store, at_once: None) -> None:
    run = reported(filled)[0]
    page = draw("runs", run=run.id, view="Why")
    assert not page.exception and "What its heads look at" in words(page)
    page.button(key="run-probe").click().run()
    assert (not page.exception and "**Uses positions**" in words(page)) or "**Mind**" in words(page)
    assert page.get("plotly_chart") and not [b for b in page.button if b.key == "run-probe"]
    again = draw("runs", run=run.id, view="Why")
    assert "**Does**" in words(again) and "**Gradients**" in words(again)
    assert "**Does**" not in words(draw("runs", run=run.id))


def test_a_run_that_cannot_be_probed_says_why(own: Store) -> None:
    weightless, diverged = kept_run(own.folder), kept_run(own.folder, "diverged", seed=7)
    for run_id, sentence in ((weightless, "kept no weights"), (diverged, "diverged: nothing can be read")):
        page = draw("runs", run=run_id, view="Why")
        assert not page.exception and sentence in words(page) and not [b for b in page.button if b.key == "run-probe"]


def test_the_verdict_of_a_comparison_says_why(filled: Store, at_once: None) -> None:
    study = study_store.names(filled)[-1]
    plain = draw("comparisons", study=study)
    assert "**Why.**" not in words(plain)
    page = draw("comparisons", {f"comparisons-{study}-view": "Why"}, study=study)
    assert not page.exception
    (button,) = (b for b in page.button if b.label == "Probe 2 runs")
    button.click().run()
    assert not page.exception and "The head that matters most" in words(page)
    assert "layer 1 head" in words(page) and page.selectbox(key=f"comparisons-{study}-{task(filled)}-why-of").options
    told = words(draw("comparisons", study=study))
    assert "**Why.** " in told and "rope: layer 1 head" in told and "alibi" in told


def task(store: Store) -> str:
    return str(reported(store)[0].config["task"])


def test_an_encoding_is_probed_when_its_tab_is_opened() -> None:
    page = draw("encodings", {"encoding-view": "Why"}, encoding="binary", head_width="8", trained_length="8")
    assert not page.exception and "**Smoothness**" in words(page) and "**Shift**" in words(page)
    assert "**Smoothness**" not in words(draw("encodings", encoding="binary", head_width="8", trained_length="8"))


def test_a_process_probes_and_says_what_it_cannot(filled: Store, capsys: pytest.CaptureFixture[str]) -> None:
    run = reported(filled)[0]
    (broken,) = [other for other in reported(filled) if other.id != run.id][:1]
    (broken.folder / "model.safetensors").write_bytes(b"no weights")
    assert worker.main(str(filled.folder), run.id, broken.id) == 1
    assert (run.folder / "probe.json").exists() and not (broken.folder / "probe.json").exists()
    assert f"{broken.id}: " in capsys.readouterr().err


def test_the_process_is_watched(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process, which fails at once: what it says is shown."""
    runs: Sequence[Run] = reported(filled)[:1]
    monkeypatch.setattr(sys, "executable", "/bin/false")
    under_way = probing.start(runs)
    under_way.process.wait()
    assert not under_way.running and probing.of(runs) is under_way and under_way.share <= 0.99 and not under_way.done
    page = draw("runs", run=runs[0].id, view="Why")
    assert not page.exception and page.button(key="run-probe")
