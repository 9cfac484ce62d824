"""What probes found is stored beside a run and read back; its own files stay as they are."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from ordinate.core.errors import InputError
from ordinate.probes import records
from ordinate.probes.layer_measures import LayerMeasures
from ordinate.probes.run_probe import RunProbe
from ordinate.store import Run


def sums(run: Run) -> dict[str, str]:
    files = (path for path in run.folder.iterdir() if path.name not in records.NAMES.values())
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_probe_is_made_once_and_read_back(learned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sums(learned)
    first, layers = records.whole_probe(learned), records.measured_layers(learned)
    monkeypatch.setattr(records, "probe_run", lambda run: pytest.fail("measured again"))
    monkeypatch.setattr(records, "layer_measures", lambda run: pytest.fail("measured again"))
    again = records.whole_probe(learned)
    assert [head.role for head in again.heads] == [head.role for head in first.heads]
    assert again.heads[0].score == pytest.approx(first.heads[0].score, rel=1e-4)
    assert set(again.attention) == set(first.attention) and again.interventions[0].name == first.interventions[0].name
    assert len(records.measured_layers(learned).trained.states) == len(layers.trained.states) == 2
    assert sums(learned) == before


def test_layers_are_measured_as_the_probe_of_a_run_does(learned: Run) -> None:
    whole, layers = records.whole_probe(learned), records.measured_layers(learned)
    assert layers.trained.gradients == pytest.approx(whole.gradients.layers, rel=1e-3)
    assert layers.untrained.gradients == pytest.approx(whole.untrained_gradients.layers, rel=1e-3)
    assert [s.position for s in layers.trained.states] == pytest.approx(
        [s.trained.position for s in whole.layers], 1e-3
    )
    assert all(0 <= value <= 1 for value in (*layers.trained.entropy, *layers.untrained.entropy))


def test_a_damaged_record_is_none_and_made_again(learned: Run) -> None:
    records.measured_layers(learned)
    path = learned.folder / records.NAMES[LayerMeasures]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"length": 7}))
    assert records.stored(LayerMeasures, learned) is None
    assert records.measured_layers(learned).length == 12


def test_what_ships_is_small_and_can_be_read(learned: Run, tmp_path: Path) -> None:
    small = records.small(records.whole_probe(learned))
    assert set(small.attention) == {small.length} and small.heads[0].score.keys() == {12, 16}
    other = Run(tmp_path / learned.id)
    other.folder.mkdir()
    records.remember(small, other)
    assert records.stored(RunProbe, other) is not None
    assert (other.folder / "probe.json").stat().st_size < 40_000


def test_a_run_without_weights_has_no_probe(learned: Run, tmp_path: Path) -> None:
    empty = Run(tmp_path / learned.id)
    empty.folder.mkdir()
    (empty.folder / "config.json").write_bytes((learned.folder / "config.json").read_bytes())
    with pytest.raises(InputError, match="probes need a finished one"):
        records.whole_probe(empty)
