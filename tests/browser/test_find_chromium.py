"""Which browser the tests take."""

import pytest

from .find_chromium import find


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    found = find()
    assert found is not None
    monkeypatch.setenv("ORDINATE_CHROMIUM", found)
    assert find() == found
    monkeypatch.setenv("ORDINATE_CHROMIUM", "/no/such/browser")
    assert find() is None
