"""Who looks at whom: attention by encoding, example, layer and head, as far as runs have kept it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ordinate.app.pictures import plain, show
from ordinate.report.attention import LARGEST_PANEL, pooled
from ordinate.report.chart import Heat, Panel
from ordinate.studies.comparison import Profile

Maps = list[NDArray[np.float32]]  # one per layer: [example, head, query, key]


def choose(profiles: Sequence[Profile], key: str) -> None:
    """Pickers, and the map that they choose."""
    kept = {profile.encoding: profile.attention for profile in profiles if profile.attention is not None}
    if not kept:
        return
    st.markdown("**Attention**")
    with st.container(horizontal=True):
        encoding = st.selectbox("Encoding", list(kept), key=f"{key}-attention-encoding", width=220)
        path = kept[encoding] if encoding is not None else None
        maps = read(path, path.stat().st_mtime_ns) if path is not None and path.exists() else None
        if not maps:
            st.info("The attention maps of this run cannot be read: train it again to draw them.")
            return
        layer = st.selectbox("Layer", range(1, len(maps) + 1), key=f"{key}-attention-layer", width=110)
        head = st.selectbox("Head", ["all", *range(1, maps[0].shape[1] + 1)], key=f"{key}-attention-head", width=110)
        example = st.selectbox("Example", range(1, len(maps[0]) + 1), key=f"{key}-attention-example", width=120)
    heads = maps[int(layer) - 1][int(example) - 1]
    show(picture(encoding, heads, int(layer), head), f"{key}-attention", heading=False)


@st.cache_data(max_entries=32, show_spinner=False)
def read(path: Path, changed: int) -> Maps | None:
    """The maps of a file, one per layer; none if they cannot be read. `changed` is when it was written."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        kept = load_file(path)
        layers = [np.asarray(kept[f"layer_{i}"], dtype=np.float32) for i in range(sum("layer_" in k for k in kept))]
    except (OSError, SafetensorError, KeyError, ValueError):
        return None
    return layers if layers and all(layer.ndim == 4 and layer.size for layer in layers) else None


def picture(encoding: str, heads: NDArray[np.float32], layer: int, head: int | str) -> Heat:
    """One head, or all of a layer side by side, in one scale of colours."""
    chosen = range(len(heads)) if head == "all" else [int(head) - 1]
    block = -(-max(heads.shape[1:]) // LARGEST_PANEL)
    panels = [Panel(f"L{layer} H{i + 1}", pooled(heads[i], block) if block > 1 else heads[i]) for i in chosen]
    note = "An example that was not trained on; rows are queries, columns the keys that they look at."
    note += f" Each cell is the mean of {block} by {block} positions." if block > 1 else ""
    title = f"Attention with {plain(encoding)}, layer {layer}"
    return Heat(
        f"attention {encoding} L{layer}", title, "key", "query", tuple(panels), min(len(panels), 4), block, note
    )
