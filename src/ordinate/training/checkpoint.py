"""The full state of an unfinished run. Data and dropout follow from the step, so no generator need be saved."""

import io
from pathlib import Path
from typing import Any

import torch

from ordinate.core.errors import InputError
from ordinate.model import Transformer
from ordinate.store.files import write_atomic

NAME = "checkpoint.pt"


def save(
    folder: Path, run_id: str, model: Transformer, optimiser: torch.optim.Optimizer, state: dict[str, Any]
) -> None:
    """Replace the checkpoint as a whole. `state` is plain data: step, size of the journal, what was found so far."""
    buffer = io.BytesIO()
    torch.save({"run": run_id, "model": model.state_dict(), "optimiser": optimiser.state_dict(), **state}, buffer)
    write_atomic(folder / NAME, buffer.getvalue())


def load(folder: Path, run_id: str, model: Transformer, optimiser: torch.optim.Optimizer) -> dict[str, Any] | None:
    """Put the saved state back and return the rest of it; None if there is none. Loads tensors, never code."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file shows itself in many ways
        raise InputError(f"{path} is no checkpoint of this program: move it away to start the run again") from error
    if saved.pop("run", None) != run_id:
        raise InputError(f"{path} belongs to another configuration than run {run_id}: move it away to start again")
    model.load_state_dict(saved.pop("model"))
    optimiser.load_state_dict(saved.pop("optimiser"))
    return dict(saved)
