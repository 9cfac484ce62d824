"""Why a language model does what it does: its probes, made by a process of their own on a button."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import streamlit as st

from ordinate.app import model_folders, why_view
from ordinate.app.figure_view import plain
from ordinate.app.watch import EVERY
from ordinate.core.errors import InputError
from ordinate.lm.checkpoint_folder import LATEST
from ordinate.lm.probed_model import LanguageModelProbe
from ordinate.lm.stored_models import StoredModel
from ordinate.results.serialize import read
from ordinate.store.files import read_json

FILE = "probe.json"  # beside the checkpoint
WHAT = "What its heads look at, what it knows of positions, and what each costs in nats per token; less than a minute."

_under_way: dict[Path, tuple["subprocess.Popen[bytes]", IO[bytes]]] = {}  # by folder; for every tab


def show(chosen: Sequence[StoredModel]) -> None:
    """A picker among the chosen models, and the probes of one."""
    able = {model.name: model for model in chosen if model.checkpoint is not None}
    if not able:
        st.caption("A model is probed once it has a checkpoint.")
        return
    name = next(iter(able))
    if len(able) > 1:
        name = st.selectbox("Model", list(able), key="why", bind="query-params", width=340)
    model = able[name]
    if (probe := stored_probe(model)) is not None:
        if probe.remark:
            st.warning(plain(probe.remark))
        why_view.show_probe(probe, f"probe-{model.name}", f"models-{model.name}")
        return
    process, errors = _under_way.get(model.folder, (None, None))
    if process is not None and process.poll() is None:
        st.fragment(_watch, run_every=EVERY)(process)
        return
    if process is not None and errors is not None and process.returncode:
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        st.error(plain(said.removeprefix("ordinate: ") or f"exit code {process.returncode}"))
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Probe this model", type="primary", key="probe-model", icon=":material/psychology:")
        st.caption(WHAT)
    if pressed:
        start(model)
        st.rerun()


def stored_probe(model: StoredModel) -> LanguageModelProbe | None:
    """The one beside its checkpoint, if it is of these weights."""
    with suppress(InputError, ValueError, OSError):
        found = read(LanguageModelProbe, read_json(model.folder / FILE), "probe")
        if model.result is not None:
            return found if found.sha256 == model.result.files.get(LATEST) else None
        if (model.folder / FILE).stat().st_mtime >= (model.folder / LATEST).stat().st_mtime:  # it may train on
            return found
    return None


def start(model: StoredModel) -> None:
    """Probe a model, unless that is under way."""
    corpus = model_folders.corpora().get(model.config.corpus)
    words = [sys.executable, "-m", "ordinate", "probe", str(model.folder / LATEST), "-o", str(model.folder / FILE)]
    words += [] if corpus is None else ["--data", str(corpus.folder)]
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process lives
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
    )
    _under_way[model.folder] = process, errors


def _watch(process: "subprocess.Popen[bytes]") -> None:
    """Drawn while the process is at work; when it has ended, the page is."""
    if process.poll() is not None:
        st.rerun()
    st.info("Probing: the result appears here.", icon=":material/progress_activity:")
