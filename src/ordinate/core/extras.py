"""Packages that an extra installs, as in `pip install 'ordinate[report]'`: imported when they are first used."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ordinate.core.errors import InputError

EXTRAS = {
    "report": ("jinja2", "matplotlib", "orjson", "pandas", "plotly"),
    "app": ("streamlit", "jinja2", "matplotlib", "orjson", "pandas", "plotly"),
    "lm": ("tokenizers", "huggingface_hub", "pyarrow"),
    "track": ("wandb", "tensorboard"),
    "hf": ("transformers",),
    "ray": ("ray",),
    "lm-eval": ("lm_eval",),
}


def require_extra(extra: str) -> None:
    """Refuse to start if a package of this extra is missing."""
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise InputError(f"this needs {', '.join(missing)}: pip install 'ordinate[{extra}]'")


def optional(name: str) -> Any:
    """The package, or one of its modules."""
    try:
        return import_module(name)
    except ImportError as error:
        extra = next(extra for extra, names in EXTRAS.items() if name.partition(".")[0] in names)
        text = f"this needs {name}, which cannot be imported ({error}): pip install 'ordinate[{extra}]'"
        raise InputError(text) from error
