"""Encodings together: what a combination declares of itself, and which members cannot stand beside each other."""

import pytest
import torch

from ordinate import AttentionContext, Encoding, InputError, Positions, combine, encodings


def make(name: str, **parameters: object) -> Encoding:
    return encodings.create(name, dim=16, heads=2, length=16, **parameters)


@pytest.mark.parametrize("turning", ["rope", "lrope", "clipped_rope", "xpos"])
@pytest.mark.parametrize("other", ["shaw", "cope", "deberta", "transformer_xl", "path", "rope"])
def test_who_reads_turned_queries_sees_where_they_stand(turning: str, other: str) -> None:
    assert not combine(make(turning), make(other, **({"base": 7} if other == "rope" else {}))).shift_invariant
    assert not combine(make(other), make(turning)).shift_invariant


@pytest.mark.parametrize("other", ["alibi", "t5", "fox", "dape", "none", "segment", "conditional"])
def test_who_reads_scores_alone_does_not(other: str) -> None:
    assert combine(make("rope"), make(other)).shift_invariant
    assert combine(make(other), make("rope")).shift_invariant
    assert not combine(make(other), make("learned")).shift_invariant


def test_two_turns_undo_each_other_only_where_they_commute() -> None:
    """Pairs of channels that overlap: the reason why two rotations are not declared to be invariant."""
    both = combine(make("rope"), make("rope", pairs="interleaved"))
    q, k = torch.randn(2, 1, 2, 4, 8)

    def scores(start: int) -> torch.Tensor:
        positions = Positions.range(4, start=start)
        state = both.prepare(positions)
        return both.qk_scores(
            both.rotate(q, state, "q"), both.rotate(k, state, "k"), AttentionContext.self_attention(positions)
        )

    assert (scores(5) - scores(0)).abs().max() > 0.1
    assert not both.shift_invariant


TURNING = ["rope", "lrope", "clipped_rope", "xpos", "fope", "selective_rope", "tupe", "pope"]
READING = ["shaw", "cope", "deberta", "path", "transformer_xl", "rerope", "self_extend"]


@pytest.mark.parametrize("other", TURNING + READING)
def test_wider_queries_and_keys_are_for_nobody_else(other: str) -> None:
    for context in ((make("pope"), make(other)), (make(other), make("pope"))):
        with pytest.raises(InputError, match=f"pope adds channels to queries and keys, which {other} does not support"):
            combine(*context)


@pytest.mark.parametrize("other", ["alibi", "t5", "fox", "dape", "learned", "sinusoidal", "kerple", "segment", "none"])
def test_wider_queries_and_keys_go_with_biases_gates_and_what_is_added(other: str) -> None:
    assert combine(make("pope"), make(other)).shift_invariant == (other not in ("learned", "sinusoidal"))
