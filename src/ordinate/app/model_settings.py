"""What a language model is made of, and the commands that go on with it."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ordinate.core.config import to_dict
from ordinate.core.parsing import write_value
from ordinate.lm.stored_models import StoredModel


def show(chosen: Sequence[StoredModel]) -> None:
    """All settings of one model; of several, those in which they differ."""
    settings = {model.name: _flat(to_dict(model.config) | {"branch": to_dict(model.branch) if model.branch else {}})
                for model in chosen}  # fmt: skip
    keys = dict.fromkeys(key for own in settings.values() for key in own)
    one = len(chosen) == 1
    if not one:
        keys = {key: None for key in keys if len({write_value(own.get(key)) for own in settings.values()}) > 1}
    with st.expander("Settings" if one else "Settings that differ"):
        columns = {name: [write_value(own.get(key)) for key in keys] for name, own in settings.items()}
        st.dataframe(pd.DataFrame({"setting": list(keys)} | columns), hide_index=True, key="model-settings")
    ready = [model for model in chosen if model.checkpoint is not None]
    if ready:
        with st.expander("Commands for " + ("it" if one else "them")):
            st.code(commands(ready), language="shell", wrap_lines=True)


def commands(models: Sequence[StoredModel]) -> str:
    """To evaluate, look inside, write and export."""
    first = models[0].folder
    return "\n".join([
        f"ordinate lm eval {' '.join(str(model.folder) for model in models)} -o models.html",
        f"ordinate probe {first}",
        f'ordinate lm generate {first} --prompt "def "',
        f"ordinate lm export {first} -o exported",
    ])  # fmt: skip


def _flat(settings: dict[str, object], start: str = "") -> dict[str, object]:
    """`model.dim` for a setting inside another."""
    found: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{start}{key}.")
        else:
            found[f"{start}{key}"] = value
    return found
