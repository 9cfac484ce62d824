"""What can be done to a comparison of the user's own: give it a name and a note, delete it, restore it."""

import streamlit as st

from ordinate.app import stores
from ordinate.app.figure_view import plain
from ordinate.core.display import counted
from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.bin import bin_of, delete_study, restore_study
from ordinate.studies.study_list import StudyRow


def show(store: Store, row: StudyRow) -> None:
    """The name, the note, and the buttons that change them; an example is only named."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(plain(row.name), anchor=False)
        if store.folder == stores.own().folder:
            _rename(row)
            _delete(store, row)
    if row.kept.note:
        st.markdown("  \n".join(plain(line) for line in row.kept.note.splitlines()))


def _rename(row: StudyRow) -> None:
    key = f"name-{row.kept.study.id}"
    with st.popover("Name and note", icon=":material/edit:", width="content"), st.form(key, border=False):
        title = st.text_input("Name", row.kept.title, max_chars=study_store.LONGEST_TITLE, placeholder=row.name)
        note = st.text_area("Note", row.kept.note, max_chars=study_store.LONGEST_NOTE)
        if st.form_submit_button("Save", type="primary"):
            study_store.describe(row.kept, title, note)
            st.rerun()


def _delete(store: Store, row: StudyRow) -> None:
    with st.popover("Delete", icon=":material/delete:", width="content"):
        st.markdown(
            f"**{plain(row.name)}** moves to the bin with those of its runs that no other comparison uses, and can be "
            "restored from there."
        )
        key = f"delete-{row.kept.study.id}"
        if st.button("Move to the bin", type="primary", key=key, disabled=row.state == "running"):
            count = delete_study(store, row.kept)
            st.query_params.pop("study", None)
            st.toast(f"Moved {plain(row.name)} and {counted(count, 'run')} to the bin.")
            st.rerun()
        if row.state == "running":
            st.caption("It is running: stop it first.")


def show_bin(store: Store) -> None:
    """The comparisons that were deleted."""
    try:
        deleted = study_store.readable(bin_of(store))
    except InputError as error:
        st.warning(plain(str(error)))
        return
    if not deleted:
        return
    with st.expander(f"Bin: {counted(len(deleted), 'comparison')}", icon=":material/delete:"):
        for name, kept in reversed(deleted.items()):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(plain(kept.title or ", ".join(kept.study.tasks)) + f" ({name})")
                if st.button("Restore", key=f"restore-{name}", icon=":material/undo:"):
                    restore_study(store, kept)
                    st.query_params["study"] = name
                    st.rerun()
        st.caption(f"To free the space, delete the folder {plain(str(bin_of(store).folder))}.")
