"""Who looks at whom: attention by encoding, example, layer and head, as far as runs have kept it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ordinate.app.pictures import show
from ordinate.core.errors import InputError
from ordinate.report.attention import LARGEST_PANEL, pooled
from ordinate.report.chart import Heat, Panel
from ordinate.store.files import read_bytes

Bind = Literal["query-params"] | None
Maps = list[NDArray[np.float32]]  # one per layer: [example, head, query, key]


def choose(kept: Mapping[str, Path], key: str, *, what: str, bind: Bind = None) -> None:
    """Pickers, and the map that they choose. `kept` has a file for each of `what`; bound, layer and head stand in the
    address."""
    if not kept:
        return
    st.markdown("**Attention**")
    before = f"{key}-attention-" if bind is None else ""
    with st.container(horizontal=True):
        name = (
            st.selectbox(what, list(kept), key=f"{key}-attention-of", width=260) if len(kept) > 1 else next(iter(kept))
        )
        maps = read(kept[name], kept[name].stat().st_mtime_ns) if kept[name].exists() else None
        if not maps:
            st.info("The attention maps of this run cannot be read: train it again to draw them.")
            return
        layer = st.selectbox("Layer", range(1, len(maps) + 1), key=f"{before}layer", bind=bind, width=110)
        every = ["all", *range(1, maps[layer - 1].shape[1] + 1)]
        head = st.selectbox("Head", every, key=f"{before}head", bind=bind, width=110)
        count = len(maps[layer - 1])
        example = st.selectbox("Example", range(1, count + 1), key=f"{before}example", bind=bind, width=120)
    show(picture(name, maps[layer - 1][example - 1], layer, head), f"{key}-attention", heading=False)


@st.cache_data(max_entries=32, show_spinner=False)
def read(path: Path, changed: int) -> Maps | None:
    """The maps of a file, one per layer; none if they cannot be read. `changed` is when it was written."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        kept = load(read_bytes(path))
        layers = [np.asarray(kept[f"layer_{i}"], dtype=np.float32) for i in range(sum("layer_" in k for k in kept))]
    except (OSError, InputError, SafetensorError, KeyError, ValueError):
        return None
    return layers if layers and all(layer.ndim == 4 and layer.size for layer in layers) else None


def picture(encoding: str, heads: NDArray[np.float32], layer: int, head: int | str) -> Heat:
    """One head, or all of a layer side by side, in one scale of colors."""
    chosen = range(len(heads)) if head == "all" else [int(head) - 1]
    block = -(-max(heads.shape[1:]) // LARGEST_PANEL)
    panels = [Panel(f"L{layer} H{i + 1}", pooled(heads[i], block) if block > 1 else heads[i]) for i in chosen]
    note = "An example that was not trained on; rows are queries, columns the keys that they look at."
    note += f" Each cell is the mean of {block} by {block} positions." if block > 1 else ""
    title = f"Attention with {encoding}, layer {layer}"
    return Heat(
        f"attention {encoding} L{layer}", title, "key", "query", tuple(panels), min(len(panels), 4), block, note
    )
