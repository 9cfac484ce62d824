"""A comparison while it runs: curves that grow, a table of its runs, and a way to stop it."""

import pandas as pd
import streamlit as st

from ordinate.app import comparison_view, figure_view, jobs
from ordinate.app.figure_view import plain
from ordinate.app.run_data import tail
from ordinate.app.watch import EVERY, Snapshot, Watched, freeze_garbage
from ordinate.core.display import duration
from ordinate.report.colors import styles
from ordinate.report.curves import learning_curves
from ordinate.results.comparison import Comparison
from ordinate.store import Store
from ordinate.studies.collect import collect
from ordinate.studies.driver import driver, stop
from ordinate.studies.study_state import StudyState
from ordinate.studies.study_store import StoredStudy

HOW_TO_STOP = "Finishes the runs under way; pressed again, stops at once. What is done is kept."
COLUMNS = ("task", "encoding", "seed", "rate", "state", "progress", "step", "validation", "seconds", "run")


def show(store: Store, kept: StoredStudy, key: str, *, beside: int = 2) -> None:
    """Progress if it is under way; otherwise the results, and a way to go on if it was stopped."""
    if driver(kept.folder) is not None:
        _live(store, kept, key)
        return
    comparison = gathered(store, kept)
    unfinished = [run for run in comparison.runs if run.state not in ("finished", "diverged")]
    if unfinished and store.folder.exists():
        _unfinished(store, kept, len(unfinished), key)
    comparison_view.show(comparison, key, beside=beside)


def gathered(store: Store, kept: StoredStudy) -> Comparison:
    """All that is known of a study; read again when a run of it has changed."""
    return _gathered(str(kept.folder), stamp(store), store, kept)


@st.cache_data(max_entries=16, show_spinner="Reading the runs")
def _gathered(folder: str, changed: float, _store: Store, _kept: StoredStudy) -> Comparison:
    return collect(StudyState(_kept.study, _store), _kept.command)


def stamp(store: Store) -> float:
    """When anything in the store changed last: a run that is done makes a new file in its folder."""
    try:
        return max([store.folder.stat().st_mtime, *(f.stat().st_mtime for f in store.folder.iterdir() if f.is_dir())])
    except (OSError, ValueError):
        return 0.0


def _unfinished(store: Store, kept: StoredStudy, missing: int, key: str) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"**Not finished**: {missing} run{'s' * (missing != 1)} of this comparison are still to be done.")
        if st.button("Go on", key=f"{key}-resume", icon=":material/play_arrow:", type="primary"):
            st.session_state.pop(f"{key}-stopping", None)
            jobs.resume(store, kept)
            st.rerun()
    if said := tail(kept.folder / "log.txt"):
        with st.expander("What its process said"):
            st.code(said, language=None)


@st.cache_resource(max_entries=8, show_spinner=False)
def _watched(folder: str, _store: Store, _kept: StoredStudy) -> Watched:
    freeze_garbage()
    return Watched(_kept.study, _store)


@st.fragment(run_every=EVERY)
def _live(store: Store, kept: StoredStudy, key: str) -> None:
    process = driver(kept.folder)
    if process is None:  # it has ended: redraw the whole page with the results
        st.rerun()
    look = _watched(str(kept.folder), store, kept).look()
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            done = look.count("done") + look.count("diverged")
            st.markdown(f"**{look.stage}**: {done} of {len(look.runs)} runs done{_left(look)}")
            if not process.near:
                st.caption(f"On {plain(process.host)}: stop it there.")
            elif st.button("Stop", key=f"{key}-stop", icon=":material/stop:", help=HOW_TO_STOP):
                stop(kept.folder)
                st.session_state[f"{key}-stopping"] = True
        if st.session_state.get(f"{key}-stopping"):
            st.caption("Finishing the runs under way. Stop, pressed again, stops at once; what is done is kept.")
        st.progress(done / max(1, len(look.runs)))
        _curves(kept, look, key)
        _runs(look, key)


def _left(look: Snapshot) -> str:
    """From the time that finished runs took."""
    took = [run.seconds for run in look.runs if run.seconds is not None]
    if not took:
        return ""
    under_way = [run for run in look.runs if run.state == "running"]
    waiting = look.count("waiting") + sum(1 - run.step / max(1, run.of) for run in under_way)
    return f", about {duration(sum(took) / len(took) * waiting / max(1, len(under_way)))} left"


def _curves(kept: StoredStudy, look: Snapshot, key: str) -> None:
    looks = styles(kept.study.encodings)
    for task in kept.study.tasks:
        curves = [curve for curve in look.curves if curve.task == task]
        chart = learning_curves(task, curves, looks, order=kept.study.encodings, metric="score")
        if chart is not None:
            figure_view.show(chart, f"{key}-live-{task}", download=False)
    if kept.study.rates and not any(curve.steps for curve in look.curves):
        st.caption("Learning rates are chosen on a pilot seed first; curves of reported seeds follow.")


def _runs(look: Snapshot, key: str) -> None:
    order = {"running": 0, "failed": 1, "damaged": 2, "diverged": 3, "interrupted": 4, "waiting": 5, "done": 6}
    rows = sorted(look.runs, key=lambda run: order.get(run.state, 9))
    table = pd.DataFrame(rows)
    table["progress"] = 100 * table["step"] / table["of"].clip(lower=1)
    st.dataframe(
        table, hide_index=True, height=240, placeholder="", key=f"{key}-live-runs", column_order=COLUMNS,
        column_config={
            "progress": st.column_config.ProgressColumn("progress", min_value=0, max_value=100, format="%.0f %%"),
            "validation": st.column_config.NumberColumn(format="%.3f"),
            "seconds": st.column_config.NumberColumn(format="%.0f"),
            "rate": st.column_config.NumberColumn(format="%g"),
        },
    )  # fmt: skip
