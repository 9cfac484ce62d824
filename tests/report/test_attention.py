"""Attention over tokens: what heads look at, and where answers stand."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ordinate import tasks
from ordinate.report.attention import all_heads, one_head
from ordinate.report.attention_example import ANSWER, AttentionExample, read_examples
from ordinate.report.draw_matplotlib import save
from ordinate.report.draw_plotly import draw

K = 3
TOKENS = [0, 1, 2, 3, 4, 5, 6, 7]


def heads(*gaps: int) -> np.ndarray:
    """Heads of which each looks at the token so many positions back, and else at the first."""
    weights = np.zeros((1, len(gaps), len(TOKENS), len(TOKENS)), dtype=np.float32)
    for head, gap in enumerate(gaps):
        for query in range(len(TOKENS)):
            weights[0, head, query, max(0, query - gap)] = 1
    return weights


@pytest.fixture
def example(tmp_path: Path) -> AttentionExample:
    kept = {"layer_0": heads(0, 1, len(TOKENS)), "layer_1": heads(K, 5, 1), "tokens": np.array([TOKENS])}
    save_file(kept, tmp_path / "attention.safetensors")
    return read_examples(tmp_path / "attention.safetensors", f"k_back(k={K})")[0]


def test_heads_are_named_by_what_they_look_at_and_those_on_the_target_come_first(example: AttentionExample) -> None:
    assert [(head.name, head.looks) for head in example.heads[:1]] == [("L2 H1", "1.00 on the target")]
    looks = {head.name: head.looks for head in example.heads}
    assert looks["L1 H1"] == "1.00 on itself" and looks["L1 H3"] == "1.00 on the first token"
    assert looks["L1 H2"] == looks["L2 H3"] == "1.00 on the previous token"
    shares = [head.shares[ANSWER] for head in example.heads]
    assert shares == sorted(shares, reverse=True)
    picture = all_heads(example, "name", "title")
    assert [panel.note for panel in picture.panels] == [head.looks for head in example.heads]


def test_even_attention_is_spread_out_and_has_the_even_share() -> None:
    n = len(TOKENS)
    even = (np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]).astype(np.float32)
    answers = tuple(tasks.create("k_back", k=K).answer_positions(TOKENS))
    head = AttentionExample((even[None],), answers=answers).heads[0]
    assert head.shares == pytest.approx(head.even) and head.looks == "spread out"
    assert head.even[ANSWER] == pytest.approx(np.mean([1 / (query + 1) for query in range(K, n)]))


def test_a_large_head_has_tokens_marks_and_what_each_query_looks_at(example: AttentionExample) -> None:
    picture = one_head(example, example.heads[0], "name", "title")
    assert picture.labels == tuple("ABCDEFGH") and picture.marks == tuple((q, q - K) for q in range(K, len(TOKENS)))
    assert picture.panels[0].rows[4] == "4 (E) looks at 1 (B) 1.00; its answer is at 1 (B)"
    assert picture.panels[0].rows[1] == "1 (B) looks at 0 (A) 1.00"
    drawn = draw(picture)
    heat, marks = drawn["data"]
    assert drawn["layout"]["xaxis"]["ticktext"] == drawn["layout"]["yaxis"]["ticktext"] == list("ABCDEFGH")
    assert list(zip(marks["y"], marks["x"], strict=True)) == list(picture.marks)
    assert heat["customdata"][4] == ["4 (E) looks at 1 (B) 1.00<br>its answer is at 1 (B)"] * len(TOKENS)
    assert save(picture)["png"]


def test_an_unknown_task_has_numbers_and_no_marks(tmp_path: Path) -> None:
    save_file({"layer_0": heads(1, 2), "tokens": np.array([TOKENS])}, tmp_path / "x.safetensors")
    (example,) = read_examples(tmp_path / "x.safetensors", "no_such_task")
    assert not example.tokens and not example.marks and ANSWER not in example.even
    assert example.looks_at(example.heads[0].weights, 5) == "5 looks at 4 1.00"


def test_cells_of_a_grid_are_named_by_row_and_column(tmp_path: Path) -> None:
    tokens = tasks.create("image_pattern").example()
    weights = np.eye(len(tokens), dtype=np.float32)[None, None]
    save_file({"layer_0": weights, "tokens": np.array([tokens])}, tmp_path / "x.safetensors")
    (example,) = read_examples(tmp_path / "x.safetensors", "image_pattern")
    assert example.marks == [(0, 5)] and example.spot(5) == "row 1, column 2 (F)" and not example.causal


def test_a_name_in_a_token_is_text(tmp_path: Path) -> None:
    example = AttentionExample((heads(1)[0],), tokens=("<b>",) * len(TOKENS))
    drawn = str(draw(one_head(example, example.heads[0], "name", "title")))
    assert "<b>" not in drawn and "&lt;b&gt;" in drawn
