"""Without transformers, everything else works, and what needs it says so."""

import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from ordinate import InputError, attach_hf, from_hf


def test_it_is_imported_when_first_needed() -> None:
    code = """
        import sys
        import ordinate
        ordinate.from_hf, ordinate.attach_hf
        rope = ordinate.encodings.create("rope", dim=8, heads=1, length=4)
        print(ordinate.to_hf(rope)["rope_type"], "transformers" in sys.modules)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert out.split() == ["default", "False"]


def test_its_absence_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"needs transformers.*pip install 'ordinate\[hf\]'"):
        from_hf(None)
    with pytest.raises(InputError, match="needs transformers"):
        attach_hf(None, "alibi")


def test_an_old_one_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(__version__="4.57.1"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"needs transformers 5 or later, found 4\.57\.1"):
        from_hf(None)
