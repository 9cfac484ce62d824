"""Every shape annotated in the package is checked while tests run."""

import os
import sys
from types import SimpleNamespace

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

if "ORDINATE_UNCHECKED" not in os.environ:
    check = beartype(conf=BeartypeConf(is_pep484_tower=True))  # a whole number is a number
    sys.modules["typecheck_for_tests"] = SimpleNamespace(check=check)  # type: ignore[assignment]
    install_import_hook("ordinate", "typecheck_for_tests.check")

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Tests draw their inputs from torch's global generator; the package itself never does."""
    torch.manual_seed(0)
