"""What probes found of a run, stored beside its files and read back: probing again would give the same.

None of these files belongs to the hashed ones of a run.
"""

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ordinate.core.errors import InputError, OtherVersionError
from ordinate.probes.layer_measures import LayerMeasures, layer_measures
from ordinate.probes.run_probe import RunProbe, probe_run
from ordinate.results.serialize import write
from ordinate.store import Run
from ordinate.store.documents import read_document, write_document
from ordinate.store.files import refuse_link

Record = TypeVar("Record", RunProbe, LayerMeasures)

NAMES: dict[type, str] = {RunProbe: "probe.json", LayerMeasures: "layers.json"}
DIGITS = 5  # of a number


def stored(kind: type[Record], run: Run) -> Record | None:
    """The record of a run, if it has one. One of another version, or a damaged one, is as good as none."""
    with suppress(InputError, OtherVersionError):
        found = read_document(kind, run.folder / NAMES[kind], "probe")
        return found if found.run == run.id else None
    return None


def remember(record: RunProbe | LayerMeasures, run: Run) -> None:
    """Store a record. A store that cannot be written has none, which is no fault of the probe."""
    with suppress(OSError, InputError):
        refuse_link(run.folder)
        write_document(run.folder / NAMES[type(record)], _short(write(record)))


def whole_probe(run: Run) -> RunProbe:
    """All probes of a finished run: those that are stored, else measured now and stored."""
    found = stored(RunProbe, run)
    if found is None:
        remember(found := probe_run(run), run)
    return found


def measured_layers(run: Run) -> LayerMeasures:
    """The measures by depth of a finished run: those that are stored, else measured now and stored."""
    found = stored(LayerMeasures, run)
    if found is None:
        remember(found := layer_measures(run), run)
    return found


def small(probe: RunProbe) -> RunProbe:
    """What is shipped: attention by distance at the trained length alone, and few points of the journal."""
    kept = {probe.length: probe.attention[probe.length]}
    return replace(probe, attention=kept, gradient_norms=probe.gradient_norms[:: 1 + len(probe.gradient_norms) // 60])


def _short(value: Any) -> Any:
    """With fewer digits, wherever there are numbers."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value
