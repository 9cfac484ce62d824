"""Compare: choose a task, encodings and settings; start; watch; understand."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st

from ordinate.app import jobs, live_view, stores
from ordinate.app.compare_form import FormValues, addressed, draw_form, form_shows
from ordinate.app.figure_view import plain
from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.compare import Job, prepare
from ordinate.studies.driver import driver
from ordinate.studies.forecast import Forecast, forecast
from ordinate.studies.study_store import StoredStudy


def page() -> None:
    """What to compare on the left of a wide window, what is known of it on the right."""
    st.title("Which positional encoding?", anchor=False)
    from ordinate import tasks

    address = addressed()
    left, right = st.columns([2, 3], gap="large")
    with left:
        names = tasks.names()
        task = st.selectbox("Task", names, index=_first(names), key="task", bind="query-params")
        if task is None:
            return
        _describe(_facts(task))
        form = st.container()
    begun = bool(study_store.names(stores.own()))
    if not begun:  # there is nothing but examples: they need not wait for the form
        with right:
            _show(None, task)
    with form:
        job = _prepared(task)
        _refused(address)
        below = st.container()  # timing takes a second: what is known is drawn first
    if begun:
        with right:
            _show(job, task)
    if job is not None:
        with below:
            _ahead(job)


def _show(job: Job | None, task: str) -> None:
    """The state of this comparison; before it starts, an example on the same task."""
    found = _known(job, task)
    if found is None:
        st.info("No comparison on this task yet: press Start.", icon=":material/play_arrow:")
        return
    store, kept, mine = found
    if not mine:
        st.caption(f"What is known of {plain(task)} already: an example that came with the program. {_brief(kept)}")
    live_view.show(store, kept, key=f"compare-{kept.study.id}", beside=1)


def _first(names: list[str]) -> int:
    """The index of the task shown first: that of the latest example."""
    return next((names.index(task) for kept in _examples() if (task := kept.study.tasks[0]) in names), 0)


def _examples() -> Iterator[StoredStudy]:
    """The shipped comparisons, latest first, without damaged ones."""
    store = stores.named("examples")
    for name in reversed(study_store.names(store)):
        with suppress(InputError):
            yield study_store.find(store, name)


@st.cache_data(show_spinner=False)
def _facts(task: str) -> dict[str, Any]:
    from ordinate import tasks

    return tasks.describe(task)


def _describe(facts: dict[str, Any]) -> None:
    """Description, one problem with its answer, and the score of chance."""
    st.markdown(plain(facts["words"]))
    st.code(facts["example"], language=None)
    values = {f"{value:.3g}" for value in facts["chance"].values()}
    by_length = ", ".join(f"{value:.3g} at {length}" for length, value in facts["chance"].items())
    chance = f"Chance: {values.pop()}." if len(values) == 1 else f"Chance by length: {by_length}."
    low, high = facts["train_lengths"]
    bar = "" if facts["bar"] is None else f" Learned: {facts['metric']} of at least {facts['bar']:g}."
    st.caption(f"Trained at lengths {low} to {high}. {chance}{bar}")


def _prepared(task: str) -> Job | None:
    """The comparison in the form, or none with an error; the rest of the page is still drawn."""
    try:
        return _planned(draw_form(task), stores.own().folder)
    except InputError as error:
        st.error(plain(str(error)))
        return None


def _refused(address: dict[str, str]) -> None:
    """Warn about values in the address that the form does not offer."""
    missing = [f"{key}={text}" for key, text in address.items() if not form_shows(key, text)]
    if missing:
        used = "the default is used" if len(missing) == 1 else "the defaults are used"
        st.warning(plain(f"This form has no {', '.join(missing)}, which the address requests: {used}."))


@st.cache_resource(max_entries=64, show_spinner="Planning", hash_funcs={FormValues: repr})
def _planned(form: FormValues, store: Path) -> Job:
    """Planning tries every model once, which takes a moment."""
    return prepare(form.task, form.encodings, seeds=form.seeds, rates=form.rates, store=store, settings=form.settings)


def _ahead(job: Job) -> None:
    """How long it takes, the command that does the same, and the button."""
    running, missing = driver(job.folder) is not None, 1
    if not running:
        found = _looked(job.study.id, str(job.store.folder), live_view.stamp(job.store), job)
        missing = found.missing
        for line in found.lines[1:]:
            st.caption(plain(line[:1].upper() + line[1:]))
    begun = (job.folder / "study.json").exists()  # then it goes on from where its progress is shown
    idle = running or begun or not missing
    if st.button("Start", type="primary", icon=":material/play_arrow:", disabled=idle, key="start"):
        jobs.start(job)
        st.rerun()
    st.caption("The same on the command line:")
    st.code(job.again, language="shell", wrap_lines=True)


@st.cache_data(max_entries=64, show_spinner="Timing one step of each encoding")
def _looked(study: str, store: str, stamp: float, _job: Job) -> Forecast:
    return forecast(_job)


def _known(job: Job | None, task: str) -> tuple[Store, StoredStudy, bool] | None:
    """This comparison if it was started; otherwise an example on the same task."""
    if job is not None and (job.folder / "study.json").exists():
        return job.store, study_store.find(job.store, job.study.id), True
    return next(((stores.named("examples"), kept, False) for kept in _examples() if kept.study.tasks == (task,)), None)


def _brief(kept: StoredStudy) -> str:
    study = kept.study
    rates = "rates tuned for each" if study.rates else "one learning rate for all"
    return f"{len(study.encodings)} encodings, {study.seeds} seeds, {rates}."
