"""Memory of a training step: counted from its tensors, and measured as the peak of a fresh process.

The count is the same on every machine. The peak comes from the operating system and includes what kernels allocate for
themselves; it is measured by `python -m ordinate.training.step_memory JSON`.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from ordinate.core.task import Batch
from ordinate.training.measured_model import Inputs, make_model, paths

LIMIT = 900  # seconds that one measurement may take
# Return freed memory to the system: otherwise what glibc retains counts as needed, and query blocks, which allocate and
# free often, seem to take five times as much.
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}


def counted_memory(model: nn.Module, batch: Batch) -> int:
    """Bytes of weights, gradients, two moments of the optimizer, and what one step keeps for its backward pass."""
    weights = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in model.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    device, was_training = next(model.parameters()).device, model.training
    positions = None if batch.positions is None else batch.positions.to(device)
    model.train()
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(batch.tokens.to(device), positions=positions)
    model.train(was_training)
    del logits  # until here, nothing that was kept could be freed and counted twice
    return 4 * sum(weights.values()) + sum(kept.values())


@dataclass(frozen=True)
class MeasuredLayer:
    """The layer whose peak is measured."""

    encoding: str
    dim: int
    heads: int
    length: int
    batch: int = 1
    axes: int | None = None  # none: as the encoding reads them
    threads: int = 1


@dataclass(frozen=True)
class Peak:
    """Bytes beyond what the process held before, and seconds."""

    bytes: int
    seconds: float
    path: str
    axes: int


def peak(layer: MeasuredLayer) -> Peak | str:
    """The peak in a fresh process, or a sentence on why that process failed."""
    command = [sys.executable, "-m", "ordinate.training.step_memory", json.dumps(asdict(layer))]
    env = os.environ | GIVE_BACK
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=env)
    except subprocess.TimeoutExpired:
        return f"took longer than {LIMIT} s"
    if done.returncode < 0:
        return f"was ended by the system (signal {-done.returncode}): too little memory?"
    if done.returncode:
        return done.stderr.strip().rpartition("\n")[2] or f"ended with code {done.returncode}"
    return Peak(**json.loads(done.stdout))


def here(layer: MeasuredLayer) -> Peak:
    """The peak in this process, which should be fresh."""
    torch.set_num_threads(layer.threads)
    size = dict(dim=layer.dim, heads=layer.heads, layers=1, length=layer.length)
    model = make_model(layer.encoding, **size, axes=layer.axes).train()
    short = Inputs.of(model, layer.batch, min(layer.length, 256))
    model(short.tokens, **short.arguments).sum().backward()  # loads what is loaded once
    model.zero_grad(set_to_none=True)
    inputs = Inputs.of(model, layer.batch, layer.length)
    chosen = paths(model, inputs.context(model), layer.batch)
    before, begin = _reset(), time.perf_counter()
    model(inputs.tokens, **inputs.arguments).sum().backward()
    seconds = time.perf_counter() - begin
    return Peak(max(0, _highest() - before), seconds, chosen, model.config.axes)


def _reset() -> int:
    """Bytes held now; resets the high-water mark to that where the system can."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _status("VmRSS")
    except OSError:
        return _highest()


def _highest() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(f"{key}:"))


if __name__ == "__main__":
    print(json.dumps(asdict(here(MeasuredLayer(**json.loads(sys.argv[1]))))))
