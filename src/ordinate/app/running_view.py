"""What runs now, on top of every page: how far it is, the time left, a way to watch it, and a way to stop it."""

import sys
from typing import TYPE_CHECKING

import streamlit as st

from ordinate.app import stores
from ordinate.app.figure_view import plain
from ordinate.app.navigation import open_page
from ordinate.report.chart import short
from ordinate.store import Store
from ordinate.store.holder import Holder
from ordinate.store.store import inside
from ordinate.studies.driver import driver

if TYPE_CHECKING:
    from ordinate.app.watch import Snapshot
    from ordinate.studies.study_store import StoredStudy

BUSY, IDLE = 2.0, 5.0  # seconds between looks while something runs, and while nothing does
SEEN = "running-studies"  # in the session: those that ran at the last look
ENDED = "ended-studies"  # in the session: those that ended since, until they are opened or dismissed
HOW_TO_STOP = "Finishes the runs under way; pressed again, stops at once. What is done is kept."


def running_ids(store: Store) -> list[str]:
    """The studies of a store that a process carries out, here or elsewhere, the one begun last first."""
    folders = [folder for folder in inside(store.folder / "studies") if (folder / "driver").exists()]
    alive = [folder for folder in folders if driver(folder) is not None]
    return [folder.name for folder in sorted(alive, key=lambda f: (f / "study.json").stat().st_mtime, reverse=True)]


def ended_ids(before: list[str], seen: list[str], running: list[str]) -> list[str]:
    """Each study that ended, once: one that goes on has not ended, however often it was stopped before."""
    return [study for study in dict.fromkeys([*before, *seen]) if study not in running]


def show() -> None:
    """Draw what runs, and look again from time to time."""
    store = stores.own()
    ids = running_ids(store)
    st.session_state[ENDED] = ended_ids(st.session_state.get(ENDED, []), st.session_state.get(SEEN, []), ids)
    st.session_state[SEEN] = ids
    st.fragment(_bar, run_every=BUSY if ids else IDLE)(store, ids)


def _bar(store: Store, ids: list[str]) -> None:
    if running_ids(store) != ids:  # one began or ended: the page may have to show it
        st.rerun()
    if not ids and not st.session_state.get(ENDED):
        return
    if ids and not hasattr(sys.modules.get("ordinate.app.live_view"), "show"):  # torch takes seconds: the page is first
        st.info("A comparison is running.", icon=":material/progress_activity:")
        return
    for study in ids:
        with st.container(border=True, key=f"running-{study}"):
            _running(store, study)
    for study in list(st.session_state.get(ENDED, [])):
        with st.container(border=True, key=f"ended-{study}"):
            _ended(store, study)


def _running(store: Store, study: str) -> None:
    from ordinate.app import jobs, live_view
    from ordinate.studies import study_store

    kept = study_store.find(store, study)
    process, look = driver(kept.folder), live_view.watched(store, kept).recent()
    if process is None:
        st.rerun()
    stopping = jobs.stopping(kept.folder)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"**Running**: {plain(label(kept))}")
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            _open_button("Watch", study, ":material/monitoring:")
            _stop_button(kept, process, stopping)
    st.progress(min(1.0, look.share), progress_words(look, stopping=stopping, workers=jobs.workers(kept)))


def _stop_button(kept: "StoredStudy", process: Holder, stopping: bool) -> None:
    from ordinate.app import jobs

    if not process.near:
        st.caption(f"On {plain(process.host)}: stop it there.")
        return
    name = "Stop at once" if stopping else "Stop"
    st.button(
        name, key=f"{kept.study.id}-stop", icon=":material/stop:", help=HOW_TO_STOP, on_click=jobs.stop,
        args=(kept.folder,),
    )  # fmt: skip


def progress_words(look: "Snapshot", *, stopping: bool, workers: int | None) -> str:
    """`seeds 1 to 6: 43 % of all steps, 12 to 20 min left`."""
    from ordinate.studies.time_left import range_words

    if stopping:
        left = f", {range_words(look.left_under_way)} left" if look.left_under_way and look.under_way else ""
        return f"Stopping: finishing {len(look.under_way)} runs under way{left}"
    if not look.under_way:
        count = "workers" if workers is None else f"{workers} worker{'s' * (workers != 1)}"
        return f"Starting {count}" if look.stage != "done" else "Writing the report"
    left = f", {range_words(look.left)} left" if look.left else ", time left is known after a few steps"
    return f"{look.stage}: {100 * look.share:.0f} % of all steps{left}"


def _ended(store: Store, study: str) -> None:
    from ordinate.app import live_view
    from ordinate.core.errors import InputError
    from ordinate.studies import study_store

    try:
        kept = study_store.find(store, study)
    except InputError:  # it was deleted
        _dismiss(study)
        return
    look = live_view.watched(store, kept).recent()
    done = look.count("done") + look.count("diverged")
    how = "**Finished**" if look.stage == "done" else f"**Stopped** ({done} of {len(look.runs)} runs done)"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"{how}: {plain(label(kept))}")
        with st.container(horizontal=True, width="content"):
            _open_button("See the results", study, ":material/bar_chart:")
            st.button("Dismiss", key=f"{study}-dismiss", on_click=_dismiss, args=(study,), type="tertiary")


def _dismiss(study: str) -> None:
    st.session_state[ENDED] = [other for other in st.session_state.get(ENDED, []) if other != study]


def _open_button(name: str, study: str, icon: str) -> None:
    if st.button(name, key=f"{study}-open", icon=icon):
        _dismiss(study)
        open_page("comparisons", study=study)


def label(kept: "StoredStudy") -> str:
    """What a comparison is, in a few words: its title, or its tasks and encodings."""
    return kept.title or short(f"{', '.join(kept.study.tasks)}: {', '.join(kept.study.encodings)}", 90)
