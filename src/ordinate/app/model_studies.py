"""Comparisons and studies of language models: those that come with the program, and those begun here."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from ordinate.app import figure_view, model_folders, stores
from ordinate.app.comparison_view import frame
from ordinate.app.figure_view import plain
from ordinate.core.display import counted
from ordinate.report.lm_comparison import render
from ordinate.report.lm_comparison_figures import figures
from ordinate.report.lm_comparison_tables import tables
from ordinate.report.lm_comparison_words import protocol_sentence, words
from ordinate.report.table import comma_separated
from ordinate.studies.lm import shipped
from ordinate.studies.lm.recorded import RecordedStudy, recorded_studies
from ordinate.studies.lm.shipped import Shipped
from ordinate.studies.lm.stored_runs import Checkpoints, Records
from ordinate.studies.lm.study import LMStudy, LMStudyOutcome, study_outcome
from ordinate.studies.lm.study_file import headings, load

Stamp = tuple[tuple[str, int], ...]

FORMATS = {"html": "text/html", "md": "text/markdown", "csv": "text/csv", "tex": "text/x-tex",
           "json": "application/json"}  # fmt: skip


def show() -> None:
    """A picker, and the study that it chooses."""
    own, damaged = recorded_studies(stores.checkpoints())
    for sentence in damaged:
        st.warning(plain(sentence))
    titles = {one.id: _title(one.study) for one in own} | headings()
    wanted = st.query_params.get("study", "")
    if wanted and wanted not in titles:
        st.error(f"No study {plain(repr(wanted))} is here: choose another one.")
        del st.query_params["study"]
    chosen = st.selectbox(
        "Comparison or study", list(titles), key="study", bind="query-params", format_func=titles.__getitem__
    )
    found = next((one for one in own if one.id == chosen), None)
    _study(found.study if found else _shipped(chosen), found)


@st.cache_resource(max_entries=8, show_spinner="Planning the study")
def _shipped(name: str) -> LMStudy:
    return load(name)


@st.cache_resource(max_entries=8, show_spinner=False)
def _vocabulary(name: str, _study: LMStudy) -> int:
    """That its text must have."""
    return _study.parts[0].comparison("").text_vocabulary


def _title(study: LMStudy) -> str:
    """What tells it from others of one's own."""
    part = study.parts[0]
    return f"{study.title}: {', '.join(arm.name for arm in part.arms)}, {counted(part.seeds, 'seed')}"


def _study(study: LMStudy, recorded: RecordedStudy | None) -> None:
    outcome = _outcome(study, recorded)
    st.subheader(plain(study.title), anchor=False)
    if study.question:
        st.markdown(f"**{plain(study.question)}**")
    if study.source:
        with st.expander("Where it comes from"):
            st.markdown(plain(study.source))
    runs = {run.id for part in outcome.parts for run in part.found.comparison.distinct_runs}
    done = len(runs) - outcome.missing
    if not outcome.finished:
        st.progress(done / max(1, len(runs)), f"{done} of {counted(len(runs), 'run')} done")
    if not done:
        st.info("None of its runs is done yet. This command does them, and goes on after a stop:")
        st.code(outcome.again, language="shell", wrap_lines=True)
        return
    for line in words(outcome, most=99):
        st.markdown(f"- {plain(line)}")
    _parts(outcome)
    _tables(outcome)
    _take_home(outcome)


def _outcome(study: LMStudy, recorded: RecordedStudy | None) -> LMStudyOutcome:
    """Of the text on which most of it is done."""
    root = stores.checkpoints()
    stamp = tuple(sorted((str(path), path.stat().st_mtime_ns) for path in root.glob("*/eval*.json")))
    if recorded is not None:
        return _read(recorded.id, stamp, (recorded.corpus,), recorded.command, study)
    vocabulary = _vocabulary(study.name, study)
    corpora = model_folders.corpora().items()
    fitting = [fingerprint for fingerprint, corpus in corpora if corpus.vocabulary == vocabulary]
    prepare = "" if fitting else f"ordinate lm prepare --vocabulary {vocabulary} && "
    again = f"{prepare}ordinate study run {study.typed}{model_folders.option()}"
    return _read(study.name, stamp, tuple(fitting) or ("",), again, study)


@st.cache_resource(max_entries=32, show_spinner="Planning and reading the runs")
def _read(name: str, stamp: Stamp, corpora: tuple[str, ...], again: str, _study: LMStudy) -> LMStudyOutcome:
    """`stamp`: which evaluations there are, and when each was written."""
    sources: list[Records] = [Checkpoints(stores.checkpoints()), Shipped(shipped.ARCHIVE)]
    found = [study_outcome(_study, corpus, sources, again) for corpus in corpora]
    return min(found, key=lambda outcome: outcome.missing)


def _parts(outcome: LMStudyOutcome) -> None:
    """The pictures of each comparison under its name."""
    drawn = figures(outcome)
    for part in outcome.parts:
        own = [figure for figure in drawn if len(outcome.parts) == 1 or figure.title.startswith(f"{part.part.name}: ")]
        if not part.found.records:
            continue
        if len(outcome.parts) > 1:
            st.markdown(f"#### {plain(part.part.name)}")
        if part.part.about:
            st.markdown(plain(part.part.about))
        st.caption(plain(protocol_sentence(part.found)))
        figure_view.show_rows(own, "study")


def _tables(outcome: LMStudyOutcome) -> None:
    for table in tables(outcome):
        with st.expander(plain(table.title)):
            st.dataframe(frame(table), hide_index=True, placeholder="", key=f"study-{table.name}")
            if table.note:
                st.caption(plain(table.note))
            st.download_button(
                "As CSV", partial(comma_separated, table), f"{table.name}.csv", "text/csv",
                key=f"study-csv-{table.name}", on_click="ignore", type="tertiary", icon=":material/download:",
            )  # fmt: skip


def _take_home(outcome: LMStudyOutcome) -> None:
    with st.container(horizontal=True):
        for form, kind in FORMATS.items():
            st.download_button(
                "Report (one HTML file)" if form == "html" else form, _document(outcome, form),
                f"ordinate-{Path(outcome.study.name).stem}.{form}", kind, key=f"study-report-{form}",
                on_click="ignore", type="primary" if form == "html" else "secondary", icon=":material/download:",
            )  # fmt: skip
    st.caption("The command that makes it again:")
    st.code(outcome.again, language="shell", wrap_lines=True)


def _document(outcome: LMStudyOutcome, form: str) -> Callable[[], bytes]:
    return lambda: render(outcome, form).encode("utf-8", "backslashreplace")
