"""Compare: choose a task, encodings and settings; start; watch; understand."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from ordinate.app import jobs, live_view, stores
from ordinate.app.compare_form import (
    FormValues,
    addressed,
    draw_form,
    draw_parameters,
    form_shows,
    keep_form,
    restore_form,
)
from ordinate.app.figure_view import plain
from ordinate.app.prose import prose
from ordinate.app.running_view import running_ids
from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.studies import cost, study_store
from ordinate.studies.compare import Job, prepare
from ordinate.studies.driver import driver
from ordinate.studies.forecast import RunCount, count_runs, forecast
from ordinate.studies.plan import Study
from ordinate.studies.study_store import StoredStudy
from ordinate.training.timing import Estimate


def page() -> None:
    """What to compare on the left of a wide window, what is known of it on the right."""
    st.title("Compare encodings", anchor=False)
    from ordinate import tasks

    names, address = tasks.names(), addressed()
    restore_form(names)
    left, right = st.columns([2, 3], gap="large")
    with left:
        name = st.selectbox("Task", names, index=_first(names), key="task", bind="query-params")
        if name is None:
            return
        task = _with_parameters(name)
        _describe(_facts(task or name))
        form = st.container()
    begun = bool(study_store.names(stores.own()))
    if not begun:  # there is nothing but examples: they need not wait for the form
        with right:
            _show(None, task or name)
    with form:
        job = _prepared(name, task) if task is not None else None
        _refused(address)
        below = st.container()  # timing takes a second: what is known is drawn first
    keep_form(name)
    if begun:
        with right:
            _show(job, task or name)
    if job is not None:
        with below:
            _ahead(job)


def _show(job: Job | None, task: str) -> None:
    """What runs, whatever the form says; then what is known of the form's comparison, or an example on its task."""
    store = stores.own()
    running = running_ids(store)
    for study in running:
        live_view.show(store, study_store.find(store, study), key=f"compare-{study}", beside=1)
    found = _known(job, task)
    if running and (found is None or not found[2] or found[1].study.id in running):
        return
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
    st.markdown(prose(facts["words"]))
    st.code(facts["example"], language=None)
    values = {f"{value:.3g}" for value in facts["chance"].values()}
    by_length = ", ".join(f"{value:.3g} at {length}" for length, value in facts["chance"].items())
    chance = f"Chance: {values.pop()}." if len(values) == 1 else f"Chance by length: {by_length}."
    low, high = facts["train_lengths"]
    bar = "" if facts["bar"] is None else f" Learned: {facts['metric']} of at least {facts['bar']:g}."
    st.caption(f"Trained at lengths {low} to {high}. {chance}{bar}")


def _with_parameters(name: str) -> str | None:
    """The task of the form, or none with an error."""
    try:
        return draw_parameters(name)
    except InputError as error:
        st.error(plain(str(error)))
        return None


def _prepared(name: str, task: str) -> Job | None:
    """The comparison in the form, or none with an error; the rest of the page is still drawn."""
    try:
        return _planned(draw_form(name, task), stores.own().folder)
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
    return prepare(
        form.task, form.encodings, seeds=form.seeds, quick=form.quick, rates=form.rates, store=store,
        settings=form.settings,
    )  # fmt: skip


def _ahead(job: Job) -> None:
    """The button, the command that does the same, and how long it takes; timing takes a while, so it comes last."""
    running = driver(job.folder) is not None
    counted = None if running else _counted(job.study.id, str(job.store.folder), live_view.stamp(job.store), job)
    begun = (job.folder / "study.json").exists()  # then it goes on from where its progress is shown
    idle = running or begun or counted is None or not counted.missing
    if st.button("Start", type="primary", icon=":material/play_arrow:", disabled=idle, key="start"):
        jobs.start(job)
        st.rerun()
    time = st.container()
    st.caption("The same on the command line:")
    st.code(job.again, language="shell", wrap_lines=True)
    if counted is not None:
        with time:
            _forecast(job, counted)


def _forecast(job: Job, counted: RunCount) -> None:
    timed: dict[tuple[str, str], Estimate] = {}
    shown = st.empty()
    if counted.missing:
        for arm in job.study.bases:
            shown.caption(plain(f"{counted.size:,} runs. Timing a few steps of {arm[1]} …"))
            timed |= _timed(arm[2].id, replace(job.study, bases=(arm,)))
    with shown.container():
        for line in forecast(job, counted, timed).lines[1:]:
            st.caption(plain(line[:1].upper() + line[1:]))


@st.cache_data(max_entries=64, show_spinner=False)
def _counted(study: str, store: str, stamp: float, _job: Job) -> RunCount:
    return count_runs(_job)


@st.cache_data(max_entries=500, show_spinner=False)
def _timed(config: str, _arm: Study) -> dict[tuple[str, str], Estimate]:
    """A few steps of one encoding on one task, timed once for all comparisons that have this configuration."""
    return cost.estimates(_arm)


def _known(job: Job | None, task: str) -> tuple[Store, StoredStudy, bool] | None:
    """This comparison if it was started; otherwise an example on the same task."""
    if job is not None and (job.folder / "study.json").exists():
        return job.store, study_store.find(job.store, job.study.id), True
    return next(((stores.named("examples"), kept, False) for kept in _examples() if kept.study.tasks == (task,)), None)


def _brief(kept: StoredStudy) -> str:
    study = kept.study
    rates = "rates tuned for each" if study.rates else "one learning rate for all"
    return f"{len(study.encodings)} encodings, {study.seeds} seeds, {rates}."
