"""Evaluating language models: the peak memory at eight times the trained length, and the time of a whole evaluation."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.measure import Row
from benchmarks.text import write_text
from ordinate.lm.config import resolve
from ordinate.lm.evaluation.config import EvalConfig, InductionConfig, PasskeyConfig, ProblemConfig, TextConfig
from ordinate.lm.evaluation.evaluate import evaluate
from ordinate.lm.evaluation.scorer import BATCH, Scorer, WindowedText
from ordinate.lm.evaluation.windows import Window
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import Transformer
from ordinate.text.prepare import prepare
from ordinate.text.request import request

TEXT = 4_000_000  # characters of the corpus
ENCODINGS = ("rope", "t5", "cope")  # without a bias, with one, and with scores of its own
TINY: dict[str, object] = dict(dim=32, layers=1, heads=2, length=16, batch=4, vocabulary=300)
SMALL = EvalConfig(
    text=TextConfig(overall=500, tokens=500, targets=64),
    problems=ProblemConfig(count=2),
    passkey=PasskeyConfig(contexts=(8, 16), depths=(0.5,), symbols=1, count=2),
    induction=InductionConfig(sequences=2),
)


def run(rounds: int = 1, tiny: bool = False) -> dict[str, list[Row]]:
    sizes, encodings = (("nano",), ("rope",)) if tiny else (("nano", "micro"), ENCODINGS)
    memory = [memory_row(size, encoding, tiny) for size in sizes for encoding in encodings]
    return {"memory of evaluation": memory, "time of evaluation": [time_row(tiny) for _ in range(rounds)]}


def memory_row(size: str, encoding: str, tiny: bool) -> Row:
    """The peak of a fresh process that scores a batch of windows of eight times the trained length."""
    script = f"from benchmarks.lm_eval import peak; print(peak({size!r}, {encoding!r}, {tiny}))"
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    share = float(done.stdout) / 2e9
    return Row(f"{size} with {encoding} at 8x", "2 GB", share, share, share, required="<= 1.00")


def peak(size: str, encoding: str, tiny: bool) -> float:
    """Bytes of this process after scoring windows."""
    model = untrained(size, encoding, "", tiny)
    context = 8 * model.config.model.length
    count = max(1, BATCH // context)
    tokens = np.random.default_rng(0).integers(0, model.config.model.vocabulary, count * (context + 1))
    windows = [Window(at * (context + 1), (at + 1) * (context + 1), context) for at in range(count)]
    Scorer.of(model).losses([WindowedText(tokens, window) for window in windows])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def time_row(tiny: bool) -> Row:
    """The default evaluation of nano, against three minutes."""
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = untrained("nano", "rope", "", tiny).config.model.vocabulary
        text = write_text(Path(folder) / "text", 50_000 if tiny else TEXT)
        corpus = prepare(request(f"text:{text}", vocabulary=vocabulary, valid=0.3), Path(folder) / "corpus", workers=0)
        model = untrained("nano", "rope", corpus.fingerprint, tiny)
        began = time.perf_counter()
        evaluate(model, corpus, SMALL if tiny else EvalConfig())
        share = (time.perf_counter() - began) / 180
    return Row(f"nano, {torch.get_num_threads()} threads", "3 minutes", share, share, share, required="<= 1.00")


def untrained(size: str, encoding: str, corpus: str, tiny: bool) -> TrainedModel:
    """As if it came from a checkpoint: weights do not change what an evaluation costs."""
    config = resolve(size, encoding, corpus, TINY if tiny else {})[0]
    model = Transformer(config.model, seed=config.seed).eval()
    return TrainedModel(Path("none/latest.pt"), "", config, None, 0, model)
