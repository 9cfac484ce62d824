"""Text from a language model: written by a process of its own, on a button."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from ordinate.app import model_folders
from ordinate.app.figure_view import plain
from ordinate.core.errors import InputError
from ordinate.lm.stored_models import StoredModel

PROMPT = "def "
LONGEST = 2_000  # characters of a prompt
MOST = 256  # tokens
SECONDS = 300


def show(chosen: Sequence[StoredModel]) -> None:
    """A form, and what each of the chosen models wrote after the same prompt."""
    able = {model.name: model for model in chosen if model.checkpoint is not None and model.config.model.causal}
    if not able:
        st.caption("A model writes text once it has a checkpoint and reads from left to right.")
        return
    with st.form("sample", border=False):
        prompt = st.text_area("Prompt", PROMPT, max_chars=LONGEST, height=90, help="The start of a document.")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            tokens = st.number_input("Tokens", 1, MOST, 64, width=130)
            temperature = st.slider("Temperature", 0.0, 1.5, 0.0, 0.1, width=200, help="0: the likeliest token.")
            seed = st.number_input("Seed", 0, 10**6, 0, width=130)
            pressed = st.form_submit_button("Write", type="primary", icon=":material/edit_note:")
    if not pressed:
        return
    for name, model in able.items():
        assert model.checkpoint is not None
        corpus = model_folders.corpora().get(model.config.corpus)
        asked = (prompt.replace("\0", ""), int(tokens), temperature, int(seed))
        st.markdown(f"**{plain(name)}**")
        try:
            changed = model.checkpoint.stat().st_mtime_ns
            text, remark = written(model.folder, changed, None if corpus is None else corpus.folder, *asked)
        except (InputError, OSError) as error:
            st.error(plain(str(error)))
            continue
        st.code(asked[0] + text, language=None, wrap_lines=True)
        if remark:
            st.caption(plain(remark))


@st.cache_data(max_entries=64, show_spinner="Writing: a process of its own loads the model")
def written(
    folder: Path, changed: int, corpus: Path | None, prompt: str, tokens: int, temperature: float, seed: int
) -> tuple[str, str]:
    """The continuation, and a remark if there is one. `changed`: when the checkpoint was written."""
    words = [sys.executable, "-m", "ordinate", "lm", "generate", str(folder.absolute()), f"--prompt={prompt}"]
    words += [f"--tokens={tokens}", f"--temperature={temperature}", f"--seed={seed}", "--json", "--device=cpu"]
    words += [] if corpus is None else [f"--data={corpus.absolute()}"]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InputError(f"{folder} wrote nothing in {SECONDS} seconds: ask for fewer tokens") from None
    said = done.stderr.strip()
    if done.returncode:
        raise InputError(said.rpartition("\n")[2].removeprefix("ordinate: ") or f"exit code {done.returncode}")
    return str(json.loads(done.stdout)["continuation"]), said.removeprefix("! ")
