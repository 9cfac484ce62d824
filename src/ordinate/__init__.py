"""Ordinate finds out which positional encoding a transformer should use, and shows why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate import encodings, tasks
    from ordinate.core.combine import combine
    from ordinate.core.encoding import Encoding, Shape
    from ordinate.core.errors import InputError
    from ordinate.core.positions import AttentionContext, Positions
    from ordinate.interop import as_hf, attach_hf, from_hf, load_hf, to_hf
    from ordinate.model import BoundEncoding, ModelConfig, Transformer, attend, generate, preset, record
    from ordinate.model.exported import load_exported
    from ordinate.store import open_store
    from ordinate.studies.compare import compare

__version__ = "0.1.0"

# Loaded when first used, so that `ordinate --help` answers without torch.
_WHERE = {
    "encodings": "ordinate.encodings",
    "tasks": "ordinate.tasks",
    "open_store": "ordinate.store",
    "compare": "ordinate.studies.compare",
    "report": "ordinate.report",
    "combine": "ordinate.core.combine",
    "Encoding": "ordinate.core.encoding",
    "Shape": "ordinate.core.encoding",
    "InputError": "ordinate.core.errors",
    "AttentionContext": "ordinate.core.positions",
    "Positions": "ordinate.core.positions",
    "as_hf": "ordinate.interop",
    "attach_hf": "ordinate.interop",
    "from_hf": "ordinate.interop",
    "load_hf": "ordinate.interop",
    "to_hf": "ordinate.interop",
    "BoundEncoding": "ordinate.model",
    "ModelConfig": "ordinate.model",
    "Transformer": "ordinate.model",
    "attend": "ordinate.model",
    "generate": "ordinate.model",
    "load_exported": "ordinate.model.exported",
    "preset": "ordinate.model",
    "record": "ordinate.model",
}

__all__ = [
    "AttentionContext",
    "BoundEncoding",
    "Encoding",
    "InputError",
    "ModelConfig",
    "Positions",
    "Shape",
    "Transformer",
    "as_hf",
    "attach_hf",
    "attend",
    "combine",
    "compare",
    "encodings",
    "from_hf",
    "generate",
    "load_exported",
    "load_hf",
    "open_store",
    "preset",
    "record",
    "report",
    "tasks",
    "to_hf",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'ordinate' has no attribute {name!r}")
    module = import_module(_WHERE[name])
    return module if module.__name__ == f"ordinate.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
