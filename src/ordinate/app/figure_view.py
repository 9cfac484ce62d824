"""Figures on a page of the app: charts with their data, and attention maps with pickers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ordinate.core.errors import InputError
from ordinate.report.attention import LARGEST_PANEL, pooled
from ordinate.report.chart import Figure, Heat, Panel, data
from ordinate.report.draw_plotly import SETTINGS, draw
from ordinate.report.table import comma_separated
from ordinate.store.files import read_bytes

Bind = Literal["query-params"] | None
Maps = list[NDArray[np.float32]]  # one per layer: [example, head, query, key]


def show(figure: Figure, key: str, *, heading: bool = True, download: bool = True) -> None:
    """One picture, its note, and the numbers behind it. A page that shows two of a kind gives each a `key`."""
    if heading:
        st.markdown(f"**{plain(figure.title)}**")
    if isinstance(figure, Heat) and not figure.panels:
        st.info(plain(figure.note))
        return
    drawn = draw(figure)
    drawn["layout"] |= {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    st.plotly_chart(drawn, key=key, config=SETTINGS, alt=figure.title)
    if figure.note:
        st.caption(plain(figure.note))
    if download:
        st.download_button(
            "Data as CSV", lambda: comma_separated(data(figure)), f"{figure.name}.csv", "text/csv",
            key=f"{key}-data", on_click="ignore", type="tertiary", icon=":material/download:",
        )  # fmt: skip


def show_rows(charts: Sequence[Figure], key: str, count: int = 2) -> None:
    """`count` charts per row; a narrow window stacks them."""
    for start in range(0, len(charts), count):
        for column, chart in zip(st.columns(count), charts[start : start + count], strict=False):
            with column:
                show(chart, f"{key}-{chart.name}")


def plain(text: str) -> str:
    """Text with everything escaped that Streamlit would take for Markdown."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]()#+-.!|<>$:~&^=" else letter for letter in text)


def choose_attention(kept: Mapping[str, Path], key: str, *, what: str, bind: Bind = None) -> None:
    """Pickers, and the map that they choose. `kept` has a file for each of `what`; bound, layer and head are part of
    the address."""
    if not kept:
        return
    st.markdown("**Attention**")
    before = f"{key}-attention-" if bind is None else ""
    with st.container(horizontal=True):
        name = next(iter(kept))
        if len(kept) > 1:
            name = st.selectbox(what, list(kept), key=f"{key}-attention-of", width=260)
        maps = read_attention(kept[name], kept[name].stat().st_mtime_ns) if kept[name].exists() else None
        if not maps:
            st.info("The attention maps of this run cannot be read: train it again to draw them.")
            return
        layer = st.selectbox("Layer", range(1, len(maps) + 1), key=f"{before}layer", bind=bind, width=110)
        every = ["all", *range(1, maps[layer - 1].shape[1] + 1)]
        head = st.selectbox("Head", every, key=f"{before}head", bind=bind, width=110)
        count = len(maps[layer - 1])
        example = st.selectbox("Example", range(1, count + 1), key=f"{before}example", bind=bind, width=120)
    show(attention_picture(name, maps[layer - 1][example - 1], layer, head), f"{key}-attention", heading=False)


@st.cache_data(max_entries=32, show_spinner=False)
def read_attention(path: Path, changed: int) -> Maps | None:
    """The maps of a file, one per layer; none if they cannot be read. `changed` is when it was written."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        kept = load(read_bytes(path))
        layers = [np.asarray(kept[f"layer_{i}"], dtype=np.float32) for i in range(sum("layer_" in k for k in kept))]
    except (OSError, InputError, SafetensorError, KeyError, ValueError):
        return None
    return layers if layers and all(layer.ndim == 4 and layer.size for layer in layers) else None


def attention_picture(encoding: str, heads: NDArray[np.float32], layer: int, head: int | str) -> Heat:
    """One head, or all of a layer side by side, in one scale of colors."""
    chosen = range(len(heads)) if head == "all" else [int(head) - 1]
    block = -(-max(heads.shape[1:]) // LARGEST_PANEL)
    panels = [Panel(f"L{layer} H{i + 1}", pooled(heads[i], block) if block > 1 else heads[i]) for i in chosen]
    note = "An example that was not trained on; rows are queries, columns the keys that they look at."
    note += f" Each cell is the mean of {block} by {block} positions." if block > 1 else ""
    name, title = f"attention {encoding} L{layer}", f"Attention with {encoding}, layer {layer}"
    return Heat(name, title, "key", "query", tuple(panels), min(len(panels), 4), block, note)
