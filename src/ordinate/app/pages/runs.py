"""Runs: all of a store, and one in full, or several side by side."""

from collections.abc import Sequence

import streamlit as st

from ordinate.app import run_list, run_view, stores
from ordinate.app.figure_view import plain
from ordinate.app.watch import EVERY
from ordinate.core.display import counted
from ordinate.report.chart import short
from ordinate.results.run_summary import RunSummary
from ordinate.store import Run, Store
from ordinate.studies.bin import bin_of, delete_runs, restore_run

MOST = 12  # runs side by side
DELETED = "runs-deleted"
GROUPS = "One row for all seeds of the same task, encoding and settings; scores are means over the seeds that are done."


def page() -> None:
    st.title("Runs", anchor=False)
    if st.session_state.pop(DELETED, False):
        _choose([])  # here, before the field that shows them is drawn
    name, empty = _store()
    store = stores.named(name)
    if empty:
        st.info(
            f"Your store has no runs yet ({plain(str(stores.own().folder))}). Press **Start** on the page Compare; "
            "its runs appear here as they begin." + (" Until then, these are the examples." if name != "own" else ""),
            icon=":material/play_arrow:",
        )
    changed = _changed(store)
    rows, damaged = run_list.rows(store, keep=name == "own")
    if name == "own":
        _bin(store)
    if not rows:
        return
    wanted = _wanted()
    shown = run_list.filtered(rows)
    running = {row.run for row in rows if row.state == "running"}
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(_counted(len(shown), len(rows), len(running)))
        grouped = st.toggle("Group seeds", key="group", bind="query-params", help=GROUPS)
    run_list.table(shown, _known(wanted, rows), _choose, grouped=grouped)
    if damaged:
        with st.expander(f"Damaged: {len(damaged)}", icon=":material/warning:"):
            st.dataframe({"run": list(damaged), "what is wrong": list(damaged.values())}, hide_index=True)
    st.text_input(
        "Runs shown", key="run", bind="query-params", placeholder="tick rows above, or give ids with commas",
        help="The first digits of an id are enough.",
    )  # fmt: skip
    runs = [run for start in wanted if (run := _find(store, start, rows))]
    if len(runs) > MOST:
        st.warning(f"{len(runs)} runs are chosen; the first {MOST} are shown side by side.")
    if runs and name == "own":
        _delete(store, runs)
    if runs:
        run_view.show(list({run.id: run for run in runs}.values())[:MOST])
    if running and not running & {run.id for run in runs[:MOST]}:  # runs that are shown are watched already
        _watch(store, running, changed)


def _delete(store: Store, runs: Sequence[Run]) -> None:
    ids = sorted({run.id for run in runs})
    with st.popover("Delete", icon=":material/delete:", width="content"):
        st.markdown(
            f"Moves {counted(len(ids), 'run')} to the bin of the store. A comparison that needs one of them trains it "
            "again when it is continued. They can be restored from the bin on this page."
        )
        if st.button("Move to the bin", type="primary", key="delete-runs"):
            delete_runs(store, ids)
            st.session_state[DELETED] = True
            st.toast(f"Moved {counted(len(ids), 'run')} to the bin: {', '.join(ids)}.")
            st.rerun()


def _bin(store: Store) -> None:
    """The runs that were deleted; those of a deleted comparison come back with it."""
    deleted = bin_of(store).runs()
    if not deleted:
        return
    with st.expander(f"Bin: {counted(len(deleted), 'run')}", icon=":material/delete:"):
        chosen = st.multiselect("Deleted runs", [run.id for run in deleted], key="bin", placeholder="ids")
        if st.button("Restore", key="restore-runs", icon=":material/undo:", disabled=not chosen):
            for run_id in chosen:
                restore_run(store, run_id)
            st.rerun()
        st.caption(f"To free the space, delete the folder {plain(str(bin_of(store).folder))}.")


def _store() -> tuple[str, bool]:
    """Which store is shown, and whether the user's own is still empty."""
    empty = not stores.own().runs()
    usual = "examples" if empty and stores.named("examples").runs() else "own"
    name = st.segmented_control(
        "Store", ["own", "examples"], default=usual, required=True, key="store", bind="query-params",
        label_visibility="collapsed", on_change=_choose, args=([],),
    )  # fmt: skip
    return name or usual, empty


def _counted(shown: int, every: int, running: int) -> str:
    text = f"{every} runs" if shown == every else f"{shown} of {every} runs"
    return text + (f", {running} running" if running else "") + ". Tick rows to see them in full, or side by side."


def _wanted() -> list[str]:
    """The ids in the address, or their first digits."""
    text = st.session_state["run"] if "run" in st.session_state else st.query_params.get("run", "")
    return list(dict.fromkeys(part.strip() for part in str(text or "").split(",") if part.strip()))


def _known(wanted: Sequence[str], rows: Sequence[RunSummary]) -> list[str]:
    return [row.run for start in wanted for row in rows if row.run.startswith(start)]


def _choose(ids: list[str]) -> None:
    st.session_state["run"] = ",".join(ids)


def _find(store: Store, start: str, rows: Sequence[RunSummary]) -> Run | None:
    """The run whose id starts so; without exactly one, show an error."""
    found = [row.run for row in rows if row.run.startswith(start)]
    if len(found) == 1:
        return store.run(found[0])
    if found:
        st.error(f"{len(found)} runs start with {plain(short(start))}: give more digits.")
    else:
        st.error(f"No run {plain(short(start))} is in this store: tick one in the table, or look into the other store.")
    return None


@st.fragment(run_every=EVERY)
def _watch(store: Store, running: set[str], changed: int) -> None:
    """Draw the page anew when a run ends or a new one begins; this exists only while something runs."""
    if _changed(store) != changed or any(store.run(run_id).state != "running" for run_id in running):
        st.rerun()


def _changed(store: Store) -> int:
    """When a run was added to the store last; 0 if it is not there yet."""
    return store.folder.stat().st_mtime_ns if store.folder.is_dir() else 0
