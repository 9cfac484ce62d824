"""Small samples for the baselines: how well they are measured is tested beside them."""

from collections.abc import Iterator

import pytest

from ordinate.training import baselines


@pytest.fixture(autouse=True, scope="package")
def _small_samples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "SEQUENCES", 1000)
        yield
