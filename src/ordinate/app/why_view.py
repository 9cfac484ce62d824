"""Why: what the probes of a run, of a comparison's runs or of an encoding found, in words, tables and pictures."""

import json
from collections.abc import Sequence

import streamlit as st

from ordinate.app import figure_view, probing
from ordinate.app.figure_view import plain
from ordinate.app.watch import EVERY
from ordinate.core.display import counted, duration
from ordinate.core.errors import InputError
from ordinate.probes.encoding_probe import EncodingProbe, probe_encoding
from ordinate.probes.model_probe import OwnModelProbe
from ordinate.probes.records import stored
from ordinate.probes.run_probe import RunProbe
from ordinate.probes.trained_run import WEIGHTS
from ordinate.report.chart import Figure
from ordinate.report.encoding_probe_words import Line, encoding_lines
from ordinate.report.model_probe_words import model_tables
from ordinate.report.probe_figures import encoding_probe_figures, run_probe_figures
from ordinate.report.run_probe_words import run_lines
from ordinate.report.table import Table
from ordinate.report.why import task_sentence, why_table, whys
from ordinate.results.comparison import Comparison
from ordinate.results.serialize import write
from ordinate.statistics.types import TaskAnalysis
from ordinate.store import Run, Store
from ordinate.studies.probed_study import runs_that_speak


def show_run(run: Run, key: str) -> None:
    """All probes of a run; a button where they were not made yet."""
    probe = stored(RunProbe, run)
    if probe is not None:
        _probe(probe, key)
    elif problem := _unable(run):
        st.info(plain(problem), icon=":material/help:")
    else:
        _ask([run], key, "Probe this run", "What its heads look at, what it knows of positions, and what each costs.")


def show_comparison(comparison: Comparison, store: Store | None, key: str) -> None:
    """What the heads do under each encoding, and the probes of one of them."""
    for task in comparison.analysis.tasks:
        st.subheader(plain(task.task), anchor=False)
        _task(comparison, task, store, f"{key}-{task.task}")


def _task(comparison: Comparison, task: TaskAnalysis, store: Store | None, key: str) -> None:
    found = whys(comparison, task)
    if found:
        st.markdown(plain(task_sentence(comparison, task)))
        _table(why_table(found), key)
    speak = runs_that_speak(comparison, store, task.task) if store is not None else {}
    lacking = {name: run for name, run in speak.items() if stored(RunProbe, run) is None}
    able = [run for run in lacking.values() if not _unable(run)]
    lost = [name for name, run in lacking.items() if run not in able]
    if able:
        what = "What the heads do under each encoding: one run of each, the first seed that learned the task."
        _ask(able, key, f"Probe {counted(len(able), 'run')}", what)
    if lost:
        st.caption(plain(f"Without probes, as these runs kept no weights: {', '.join(lost)}."))
    if found:
        by_name = {why.encoding: why for why in found}
        name = st.selectbox("Encoding", list(by_name), key=f"{key}-why-of", width=260)
        _probe(by_name[name].probe, f"{key}-{name}")


def show_encoding(text: str, key: str) -> None:
    """What an encoding does by itself: nothing is trained."""
    try:
        probe = _encoding(text)
    except InputError as error:
        st.error(plain(str(error)))
        return
    _lines(encoding_lines(probe))
    figure_view.show_rows(encoding_probe_figures(probe), f"{key}-why", 1)
    _json(write(probe), f"probe-{text.partition('(')[0]}", key)


@st.cache_data(max_entries=50, show_spinner="Probing the encoding")
def _encoding(text: str) -> EncodingProbe:
    return probe_encoding(text)


def _unable(run: Run) -> str:
    """Why a run cannot be probed; empty if it can."""
    if not run.done:
        return f"This run is {run.state}: probes need a finished one."
    if run.result.diverged:
        return "This run diverged: nothing can be read from its weights."
    if not (run.folder / WEIGHTS).exists():
        return "This run kept no weights, so it cannot be probed here: train it again in your own store to probe it."
    return ""


def _ask(runs: Sequence[Run], key: str, label: str, what: str) -> None:
    """A button that starts the probes, and how far they are."""
    under_way = probing.of(runs)
    if under_way is not None and under_way.running:
        st.fragment(_watch, run_every=EVERY)(runs)
        return
    if under_way is not None and (problem := under_way.problem()):
        st.error(plain(problem))
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(label, type="primary", key=f"{key}-probe", icon=":material/psychology:")
        st.caption(plain(f"{what} Takes up to {duration(probing.EACH * len(runs))} on a quiet core."))
    if pressed:
        probing.start(runs)
        st.rerun()


def _watch(runs: Sequence[Run]) -> None:
    """Redrawn while a process is at work; when it has ended, the page is."""
    under_way = probing.of(runs)
    if under_way is None or not under_way.running:
        st.rerun()
        return
    st.progress(under_way.share, f"Probing: {under_way.done} of {counted(len(runs), 'run')} done")


def _probe(probe: RunProbe, key: str) -> None:
    show_probe(probe, f"probe-{probe.run}", key)


def show_probe(probe: OwnModelProbe, name: str, key: str) -> None:
    """Words, pictures and tables, as `ordinate probe RUN -o page.html` has them. `name`: of the file of numbers."""
    _lines(run_lines(probe))
    figures: Sequence[Figure] = run_probe_figures(probe)
    figure_view.show_rows(figures, f"{key}-why")
    for table in model_tables(probe):
        with st.expander(plain(table.title)):
            _table(table, key)
    _json(write(probe), name, key)


def _lines(lines: Sequence[Line]) -> None:
    st.markdown("\n".join(f"- **{plain(topic)}**: {plain(sentence)}" for topic, sentence in lines))


def _table(table: Table, key: str) -> None:
    from ordinate.app.comparison_view import frame

    st.dataframe(frame(table), hide_index=True, placeholder="", key=f"{key}-why-{table.name}")
    if table.note:
        st.caption(plain(table.note))


def _json(content: object, name: str, key: str) -> None:
    st.download_button(
        "All numbers as JSON", lambda: json.dumps(content, indent=1), f"{name}.json", "application/json",
        key=f"{key}-why-json", on_click="ignore", icon=":material/download:",
    )  # fmt: skip
