"""Compare: choose a task, encodings and settings; start; watch; understand."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st

from ordinate.app import jobs, live_view, stores
from ordinate.app.compare_form import Asked, addressed, ask, stands
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
        _describe(_told(task))
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
    """The comparison that was asked for as far as it is, or what is known already."""
    found = _known(job, task)
    if found is None:
        st.info("Nobody has compared encodings on this task here yet: press Start.", icon=":material/play_arrow:")
        return
    store, kept, mine = found
    if not mine:
        st.caption(f"What is known of {plain(task)} already: an example that came with the program. {_brief(kept)}")
    live_view.show(store, kept, key=f"compare-{kept.study.id}", beside=1)


def _first(names: list[str]) -> int:
    """The task that stands there at the start: that of the example which was made last."""
    examples = stores.named("examples")
    for name in reversed(study_store.names(examples)):
        with suppress(InputError):  # a damaged one is no reason to show nothing
            task = study_store.find(examples, name).study.tasks[0]
            if task in names:
                return names.index(task)
    return 0


@st.cache_data(show_spinner=False)
def _told(task: str) -> dict[str, Any]:
    from ordinate import tasks

    return tasks.describe(task)


def _describe(facts: dict[str, Any]) -> None:
    """Plain words, one problem with its answer, and what guessing gives."""
    st.markdown(plain(facts["words"]))
    st.code(facts["example"], language=None)
    values = {f"{value:.3g}" for value in facts["chance"].values()}
    by_length = ", ".join(f"{value:.3g} at {length}" for length, value in facts["chance"].items())
    chance = f"Chance: {values.pop()}." if len(values) == 1 else f"Chance by length: {by_length}."
    low, high = facts["train_lengths"]
    bar = "" if facts["bar"] is None else f" Learned: {facts['metric']} of at least {facts['bar']:g}."
    st.caption(f"Trained at lengths {low} to {high}. {chance}{bar}")


def _prepared(task: str) -> Job | None:
    """The comparison that was asked for; a mistake is told in place of it, and leaves the rest of the page alone."""
    try:
        return _planned(ask(task), stores.own().folder)
    except InputError as error:
        st.error(plain(str(error)))
        return None


def _refused(address: dict[str, str]) -> None:
    """A link that somebody wrote or kept may ask for what the form does not offer, and would get something else."""
    missing = [f"{key}={text}" for key, text in address.items() if not stands(key, text)]
    if missing:
        usual = "the usual value stands" if len(missing) == 1 else "the usual values stand"
        st.warning(plain(f"This form has no {', '.join(missing)}, as the address asks: {usual} there."))


@st.cache_resource(max_entries=64, show_spinner="Planning", hash_funcs={Asked: repr})
def _planned(asked: Asked, store: Path) -> Job:
    """Planning tries every model once, which takes a moment."""
    return prepare(
        asked.task, asked.encodings, seeds=asked.seeds, rates=asked.rates, store=store, settings=asked.settings
    )  # fmt: skip


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
    """The comparison as it was asked for if it was begun; otherwise an example of the same task."""
    if job is not None and (job.folder / "study.json").exists():
        return job.store, study_store.find(job.store, job.study.id), True
    examples = stores.named("examples")
    for name in reversed(study_store.names(examples)):
        with suppress(InputError):
            kept = study_store.find(examples, name)
            if kept.study.tasks == (task,):
                return examples, kept, False
    return None


def _brief(kept: StoredStudy) -> str:
    study = kept.study
    rates = "rates tuned for each" if study.rates else "one learning rate for all"
    return f"{len(study.encodings)} encodings, {study.seeds} seeds, {rates}."
