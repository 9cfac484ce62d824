"""Every command of README and of the pages runs, with what README's set-up installs where README has it."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LANGUAGE_MODELS = ROOT / "docs" / "language-models.md"
MODELS = "checkpoints/"  # commands of other pages that need a language model
# Not in the set-up of README, which is that of `make demo`.
NOT_SET_UP = ("streamlit", "transformers", "tokenizers", "ray", "wandb", "lm_eval", "beartype", "scipy")


def commands(page: Path) -> list[str]:
    """The lines of its shell blocks that call the program. The app is opened by the tests in a browser, and a cluster
    is joined by those of the executor."""
    blocks = (text for language, text in FENCED.findall(page.read_text()) if language in ("", "sh"))
    lines = "\n".join(blocks).splitlines()
    found = [line.partition(" #")[0].strip() for line in lines if line.startswith("ordinate ")]
    return [
        line.partition(" | ")[0] for line in found if not line.startswith("ordinate app") and "--address" not in line
    ]


COMMANDS = {
    "README.md": commands(PAGES[0]),
    "pages": [line for page in PAGES[1:] if page != LANGUAGE_MODELS for line in commands(page) if MODELS not in line],
}
# A small comparison, two finished runs, results and texts, as somebody who follows the pages would have them. Then one
# line after the other, in one process.
CODE = """
import json, shlex, sys
from pathlib import Path
for name in json.loads(sys.argv[2]):
    sys.modules[name] = None
from ordinate import compare
from ordinate.cli import main
from ordinate.store import open_store
from ordinate.studies import cost, study_store
from ordinate.training import baselines
from ordinate.training.timing import Estimate
baselines.SEQUENCES, cost.estimate = 1000, lambda config: Estimate(0.001, 0.1, 100_000)
compare("k_back", "rope,none", quick=True, workers=0, dim=16, heads=4, layers=2, steps=2, evaluation_sequences=20)
store = open_store("runs")
words = {"RUN": next(run.id for run in store.runs() if run.done), "3fa": study_store.names(store)[-1], "DIR": "model",
         "/shared/runs": "runs"}
for line in json.loads(sys.argv[1]):
    arguments = [words.get(word, word) for word in shlex.split(line)]
    long = " ".join(arguments[1:3]).startswith(("train", "compare", "lm prepare", "study run"))
    sys.argv = arguments + ["--dry-run"] * long  # resolved, not trained or timed
    sys.argv += ["dim=16", "heads=2", "length=32"] * (arguments[1] == "bench")
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""


@pytest.mark.slow
@pytest.mark.parametrize("page", COMMANDS)
def test_commands_run(page: str, tmp_path: Path) -> None:
    scores = [f"{name},copy,{seed},8,id,{score}" for name, score in (("a", 1), ("b", 0.5)) for seed in range(3)]
    (tmp_path / "results.csv").write_text("\n".join(["encoding,task,seed,length,split,score", *scores]))
    texts(tmp_path)
    if any("--hf" in line for line in COMMANDS[page]):
        sizes = dict(vocab_size=50, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
        LlamaForCausalLM(LlamaConfig(**sizes)).save_pretrained(tmp_path / "model")
    missing = NOT_SET_UP if page == "README.md" else ()
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(COMMANDS[page]), json.dumps(missing)],
        cwd=tmp_path, check=False, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]


# The page's two models, as small as they can be, under the names that it gives them.
LANGUAGE_MODEL_CODE = """
import json, shlex, sys
from glob import glob
from pathlib import Path
import pyarrow as pa
from pyarrow import parquet
from ordinate.cli import main
from ordinate.lm import hardware
from ordinate.text import prepare, request
hardware.SECONDS = 0.0
lines = json.loads(sys.argv[1])
Path("mirror").mkdir()
parquet.write_table(pa.table({"text": ["one two three"] * 20}), "mirror/0.parquet")
prepare(request("text:notes", vocabulary=4096, valid=0.2), "data/stdlib", workers=0)

def run(*arguments):
    sys.argv = list(arguments)
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments

small = "batch=4 length=16 warmup=2 dim=16 heads=2 layers=1".split()
for name in ("rope", "alibi"):
    run("ordinate", "lm", "train", "--size", "nano", "--encoding", name, "--budget", "4096", *small)
    (folder,) = (path for path in Path("checkpoints").glob(f"nano_{name}_*") if (path / "result.json").exists())
    folder.rename(f"checkpoints/nano_{name}_2M_s42")
for line in lines:
    words = [word.replace("/data/mirror", "mirror") for word in shlex.split(line)]
    words = [found for word in words for found in (sorted(glob(word)) if "*" in word else [word])]
    if words[2] in ("prepare", "train", "compare"):
        words += ["--dry-run"] + ["--out", "data/new"] * (words[2] == "prepare")
    if words[2] == "eval" and "--config" not in words:
        words += ["--config", "eval.toml"]
    run(*words)
"""
EVALUATION = """
parts = ["text", "passkey"]
[text]
overall = 256
tokens = 256
targets = 64
contexts = [0.5, 1, 2]
more_contexts = []
[passkey]
contexts = [2]
depths = [0.5]
count = 2
symbols = 2
"""


@pytest.mark.slow
def test_commands_about_language_models_run(tmp_path: Path) -> None:
    """What is on another machine, or asks for several processes, is left out."""
    lines = [line for line in dict.fromkeys(commands(LANGUAGE_MODELS)) if "fineweb" not in line]
    lines += [line for page in PAGES[1:] if page != LANGUAGE_MODELS for line in commands(page) if MODELS in line]
    assert len(lines) >= 20
    (tmp_path / "eval.toml").write_text(EVALUATION)
    texts(tmp_path)
    code = [sys.executable, "-c", LANGUAGE_MODEL_CODE, json.dumps(lines)]
    done = subprocess.run(code, cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]


def texts(folder: Path) -> None:
    """Of all kinds that pages prepare."""
    (folder / "pages.jsonl").write_text('{"text": "one two three"}\n' * 20)
    for name in ("notes", "more"):
        (folder / name).mkdir()
        for number in range(20):
            (folder / name / f"{number}.txt").write_text(" ".join(map(str, range(number, 1000 + number))))


def test_what_pages_call_exists() -> None:
    """Targets of make, scripts, and folders of tests."""
    targets = re.findall(r"^([\w-]+)(?: [\w-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for page in PAGES:
        text = page.read_text()
        for target in re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE):
            assert target in targets or f" {target}:" in (ROOT / "Makefile").read_text(), f"{page.name}: make {target}"
        for script in re.findall(r"python (docs/\w+\.py)", text):
            assert (ROOT / script).exists(), f"{page.name}: {script}"
        for path in re.findall(r"(?:pytest |`)((?:tests|src)/[\w/.-]+)", text):
            made = path.endswith("root.py")  # what the reader adds
            assert made or (ROOT / path).exists(), f"{page.name}: {path}"


def test_there_are_commands_to_run() -> None:
    assert len(COMMANDS["README.md"]) >= 4 and len(COMMANDS["pages"]) >= 30
    assert all(shlex.split(line) for lines in COMMANDS.values() for line in lines)
