"""A model that trains in a moment, and where: `ORDINATE_DEVICE=cuda pytest tests/lm` runs the same tests there."""

import os
from typing import Any

from ordinate.lm.config import Decay, TrunkConfig, resolve
from ordinate.text.corpus import Corpus

DEVICE = os.environ.get("ORDINATE_DEVICE", "cpu")
SMALL: dict[str, Any] = {"dim": 16, "layers": 2, "heads": 2, "length": 16, "batch": 4, "warmup": 2, "vocabulary": 300}
decay = Decay(share=0.3)


def small_config(corpus: Corpus, encoding: str = "rope", **settings: Any) -> TrunkConfig:
    return resolve("nano", encoding, corpus.fingerprint, SMALL | settings)[0]
