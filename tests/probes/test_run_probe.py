"""A run that learned to look two back is found to look two back."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.probes import trained_run
from ordinate.probes.run_probe import RunProbe, probe_run
from ordinate.probes.trained_run import open_run
from ordinate.report.model_probe_words import head_lines, headline, model_tables
from ordinate.report.run_probe_words import run_lines
from ordinate.results.serialize import write
from ordinate.store import Run


@pytest.fixture(scope="module")
def probe(learned: Run) -> RunProbe:
    return probe_run(learned, 32)


def test_the_head_that_looks_back_is_named_and_positions_matter_only_by_their_differences(probe: RunProbe) -> None:
    assert headline(probe).startswith("Layer 1 head ")
    assert "looks 2 back with weight" in headline(probe) and "shifting them 0.00" in headline(probe)
    costs = {each.name: each.cost for each in probe.interventions if each.kind == "positions"}
    assert costs.keys() == {"permute", "shift past", "shift within", "freeze", "off"}
    assert costs["permute"] > 0.4 and costs["off"] > 0.4 and costs["freeze"] > 0.4  # type: ignore[operator]
    assert costs["shift past"] == costs["shift within"] == 0.0
    assert any("relative ones" in sentence for _, sentence in run_lines(probe))


def test_patching_by_the_ideal_pattern_costs_nothing(probe: RunProbe) -> None:
    patched = [each.cost for each in probe.interventions if each.kind == "head patched"]
    assert patched and max(patched) < 0.05  # type: ignore[type-var]
    assert any(each.kind == "band removed" and (each.cost or 0) > 0.2 for each in probe.interventions)


def test_all_of_it_is_data(probe: RunProbe, learned: Run) -> None:
    content = json.loads(json.dumps(write(probe), allow_nan=False))
    assert content["run"] == learned.id and content["lengths"] == [12, 16] and len(content["heads"]) == 2
    assert len(probe.layers) == 2 and probe.layers[0].untrained.position < 0.2
    assert probe.gradient_norms[0][0] == 1 and len(probe.gradient_norms) > 10
    assert probe.untrained_gradients.layers[0] > probe.gradients.layers[0]
    heads, layers = model_tables(probe)
    assert len(heads.rows) == len(layers.rows) == 2
    assert "looks 2 back" in {row[1] for row in heads.rows}


def test_probing_changes_no_file_and_no_weight(learned: Run) -> None:
    def seen() -> dict[str, tuple[str, int]]:
        files = sorted(learned.folder.parent.rglob("*"))
        return {
            str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in files
            if path.is_file()
        }

    before = seen()
    assert len(before) > 5
    probe_run(learned, 8)
    assert seen() == before


def test_the_trained_and_the_untrained_model_are_what_they_are_called(learned: Run) -> None:
    run = open_run(learned)
    accuracy = learned.result.in_distribution.accuracy
    batch = run.examples(12, 64)
    with torch.inference_mode():
        right = [
            (model(batch.tokens, positions=batch.positions).argmax(dim=-1) == batch.targets)[:, 2:].float().mean()
            for model in (run.model, run.untrained)
        ]
    assert right[0] == pytest.approx(accuracy, abs=0.05) and right[1] < 0.5
    again = run.examples(12, 64)
    assert torch.equal(batch.tokens, again.tokens)


def test_one_head(learned: Run) -> None:
    probe = probe_run(learned, 8, (1, 2))
    assert [(head.layer, head.head) for head in probe.heads] == [(1, 2)]
    assert {each.name for each in probe.interventions if each.kind == "head removed"} == {"layer 1 head 2"}
    assert [topic for topic, _ in head_lines(probe)][:3] == ["Does", "At length 12", "At length 16"]
    with pytest.raises(InputError, match=r"there is no head 2\.1: this model has layers 1 to 1 with heads 1 to 2"):
        probe_run(learned, 8, (2, 1))


def test_what_cannot_be_probed_is_refused_in_a_sentence(
    learned: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"at least 4 sequences, .* got 3"):
        probe_run(learned, 3)
    copy = Run(Path(shutil.copytree(learned.folder, tmp_path / learned.id)))
    (copy.folder / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"model.safetensors is damaged"):
        probe_run(copy)
    result = json.loads((copy.folder / "result.json").read_text())
    (copy.folder / "result.json").unlink()
    with pytest.raises(InputError, match=rf"run {copy.id} is interrupted at step \d+: probes need a finished one"):
        probe_run(copy)
    assert result["status"] == "finished"
    monkeypatch.setattr(Run, "result", property(lambda _: _Diverged))
    with pytest.raises(InputError, match="diverged at step 7"):
        probe_run(learned)
    monkeypatch.setattr(_Diverged, "diverged", False)
    with pytest.raises(InputError, match="kept no weights"):
        trained_run.open_run(learned)


class _Diverged:
    diverged, steps, files = True, 7, dict[str, str]()
