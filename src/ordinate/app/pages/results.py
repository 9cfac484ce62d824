"""Your results: the statistics of results from elsewhere."""

import hashlib
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import streamlit as st

from ordinate.app import comparison_view
from ordinate.app.figure_view import plain
from ordinate.core.errors import InputError
from ordinate.report.chart import short
from ordinate.results.comparison import Comparison, from_results
from ordinate.statistics.analyze import analyze, few_seeds
from ordinate.statistics.holm import score_tests
from ordinate.statistics.large.columns import Observations
from ordinate.statistics.results_file import parse_results

MOST_ROWS = 2_000_000
MOST_PAIRS = 2_000  # of encodings, over all tasks
TRIED = ("try", "example")  # in the address
EXAMPLE_NAME = "example-results.csv"
EXAMPLE_COLUMNS = "encoding,task,seed,length,split,score,chance,n"
EXAMPLE_SEEDS = range(1, 7)
# Encoding: its mean score at each length.
EXAMPLE_SCORES: dict[str, dict[int, float | None]] = {
    "rotation": {32: 0.995, 64: 0.83, 128: 0.52},
    "slope": {32: 0.985, 64: 0.975, 128: 0.93},
    "table": {32: 0.99, 64: None, 128: None},  # it refuses lengths that were not trained
}
COLUMNS = (
    ("encoding", "yes", "rotation", "What is compared; any names."),
    ("task", "yes", "recall", "What it was tested on; any names."),
    ("seed", "yes", "1", "A whole number. Give every encoding the same seeds."),
    ("length", "yes", "64", "Length of the scored sequences."),
    ("split", "yes", "ood", "id: as in training. ood: longer. shift: other positions. valid: to choose settings."),
    ("score", "yes", "0.974", "0 to 1, or a loss (direction lower). Empty: refused by the encoding. nan: diverged."),
    ("chance", "", "0.0625", "Score of guessing at this length; 0 without this column."),
    ("n", "", "1000", "Number of sequences that were scored."),
    ("bar", "", "0.95", "The score from which a task counts as learned."),
    ("direction", "", "higher", "higher or lower: which scores are better."),
)


def page() -> None:
    st.title("Your results", anchor=False)
    st.markdown("Upload scores of encodings trained elsewhere, one row for each seed and length, for a full report.")
    given = st.file_uploader("A CSV file of results", key="results")
    st.caption(
        f"UTF-8 text with commas, semicolons or tabs and a line of column names; up to {MOST_ROWS:,} rows and "
        f"{MOST_PAIRS:,} pairs of encodings. It stays on this machine, and in memory only."
    )
    with st.container(horizontal=True):
        st.button("Try it with an example", on_click=_try, icon=":material/science:", disabled=given is not None)
        st.download_button(
            "Example as CSV", example_results, EXAMPLE_NAME, "text/csv", on_click="ignore", type="tertiary",
            icon=":material/download:",
        )  # fmt: skip
    tried = given is None and st.query_params.get(TRIED[0]) == TRIED[1]
    with st.expander("The columns", expanded=given is None and not tried):
        st.dataframe(pd.DataFrame(COLUMNS, columns=["column", "needed", "such as", "meaning"]), hide_index=True)
    if given is not None:
        _say(given.name, given.getvalue())
    elif tried:
        _say(EXAMPLE_NAME, example_results().encode())


def _try() -> None:
    st.query_params[TRIED[0]] = TRIED[1]


def _say(name: str, content: bytes) -> None:
    """The analysis of a file, or what is wrong with it."""
    name = short(name, 80)
    try:
        comparison = _compared(name, content)
    except InputError as error:
        st.error(plain(short(str(error), 600)))
        return
    st.caption(f"From {plain(name)}, {len(content):,} bytes")
    comparison_view.show(comparison, key=f"results-{hashlib.sha256(content).hexdigest()[:12]}")


@st.cache_resource(max_entries=4, show_spinner="Reading and testing")
def _compared(name: str, content: bytes) -> Comparison:
    """The same as `ordinate analyze` finds. The name is for sentences: nothing is opened by it."""
    read = parse_results(BytesIO(content), name, most=MOST_ROWS)
    pairs = _pairs(read.observations)
    if pairs > MOST_PAIRS:
        raise InputError(
            f"{name} has {pairs:,} pairs of encodings to test, more than the {MOST_PAIRS:,} that a page waits for: "
            "split it by task, or use  ordinate analyze"
        )
    analysis = analyze(read.observations, limits=read.limits, preliminary=few_seeds(read.observations))
    return from_results(analysis, Path(name))


def _pairs(observations: Observations) -> int:
    own = np.unique(observations.task.astype(np.int64) * len(observations.encodings) + observations.encoding)
    return score_tests(np.bincount(own // len(observations.encodings)).tolist(), 1)


def example_results() -> str:
    """A CSV file of three encodings, six seeds and three lengths; always the same."""
    noise = Random(7)
    lines = [EXAMPLE_COLUMNS]
    for encoding, scores in EXAMPLE_SCORES.items():
        for seed in EXAMPLE_SEEDS:
            for length, mean in scores.items():
                split = "id" if length == 32 else "ood"
                spread = 0.004 if length == 32 else 0.02
                score = "" if mean is None else f"{min(1.0, noise.gauss(mean, spread)):.4f}"
                lines.append(f"{encoding},recall,{seed},{length},{split},{score},0.0625,1000")
    return "\n".join(lines) + "\n"
