"""Probes of encodings against closed forms."""

import math
from dataclasses import replace

import pytest
import torch

from ordinate import encodings
from ordinate.core.errors import InputError
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_probe import SETTING, EncodingProbe, probe_encoding
from ordinate.probes.position_vectors import VectorProbe, position_read, shift_residual, vectors
from ordinate.probes.readers import recovered
from ordinate.probes.score_distance import ScoreProbe, WavelengthProbe
from ordinate.report.encoding_probe_words import encoding_lines

SMALL = replace(SETTING, head_dim=8, heads=4, length=16, reach=48, token_size=32**-0.5)


def added(text: str) -> VectorProbe:
    found = probe_encoding(text).vectors
    assert found is not None
    return found


def scored(text: str) -> ScoreProbe:
    found = probe_encoding(text).scores
    assert found is not None
    return found


def words(probe: EncodingProbe) -> str:
    return "\n".join(f"{topic}: {sentence}" for topic, sentence in encoding_lines(probe))


@pytest.mark.parametrize("name", encodings.names())
def test_every_encoding_can_be_probed(name: str) -> None:
    probe = probe_encoding(name, SMALL)
    assert words(probe).startswith("Does: ")
    assert (probe.scores is None and probe.vectors is None) == (name in ("none", "conditional"))
    assert probe.limit or probe.reach == SMALL.reach


def test_sines_and_cosines_are_shifted_by_one_linear_map_and_sines_alone_are_not() -> None:
    """A turn by w r maps (sin w p, cos w p) to (sin w (p + r), cos w (p + r)) for every p."""
    both, sines = added("sinusoidal").shift_residual, added("sinonly").shift_residual
    assert max(both.values()) < 1e-13
    assert min(sines.values()) > 0.1 and sines[1] == pytest.approx(0.2, abs=0.1)
    assert "one linear map moves every position" in words(probe_encoding("sinusoidal"))
    assert "no linear map" in words(probe_encoding("sinonly"))


def test_the_best_map_is_a_block_of_turns() -> None:
    values = vectors(effects.make("sinusoidal", {"size": None}, SETTING), 200)
    frequency = 10_000.0 ** -(torch.arange(0, 64, 2, dtype=torch.float32) / 64).double()
    turn = torch.zeros(64, 64, dtype=torch.float64)
    for pair, angle in enumerate(5 * frequency):
        turn[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = torch.tensor(
            [[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]]
        )
    assert torch.allclose(values[:-5] @ turn, values[5:], atol=1e-5)
    assert shift_residual(values[:-5], values[5:]) < 1e-13


def test_a_table_with_few_rows_has_no_shift_residual() -> None:
    probe = probe_encoding("learned")
    assert probe.vectors is not None and probe.vectors.shift_residual == {} and probe.reach == 64
    assert "refuses" in probe.limit and "not measurable" in words(probe)
    assert min(added("learned(rows=512)").shift_residual.values()) > 0.5, "random vectors have no order"


def test_binary_jumps_where_many_bits_flip() -> None:
    steps = torch.tensor(added("binary").steps)
    flipped = torch.tensor([(p ^ (p + 1)).bit_count() for p in range(255)]).sqrt()
    assert torch.allclose(steps / steps[0], flipped, atol=1e-5)
    assert added("binary").largest_step == (127, pytest.approx(math.sqrt(8)))
    assert added("gray").largest_step[1] == pytest.approx(1.0), "a Gray code flips one bit at a time"
    assert "it jumps: the step from 127 to 128" in words(probe_encoding("binary"))


def test_decimal_jumps_at_carries() -> None:
    steps = torch.tensor(added("decimal").steps)
    digits = torch.tensor([[p // 10**place % 10 for place in range(3)] for p in range(256)], dtype=torch.float32)
    expected = (digits[1:] - digits[:-1]).norm(dim=-1)
    assert torch.allclose(steps / steps[0], expected / expected[0], atol=1e-4)
    assert added("decimal").largest_step[0] == 99


def test_similarity_of_sinusoidal_is_the_mean_cosine_of_its_frequencies() -> None:
    frequency = 10_000.0 ** -(torch.arange(0, 64, 2) / 64)
    expected = (torch.arange(256)[:, None] * frequency).cos().mean(dim=-1)
    assert torch.allclose(torch.tensor(added("sinusoidal").similarity), expected, atol=1e-4)


def test_norms_and_ranges() -> None:
    plain = added("sinusoidal(size=none)")
    assert plain.norm_ratio == pytest.approx(math.sqrt(64 / 2)) == plain.by_definition
    assert added("sinusoidal").norm_ratio == pytest.approx(1.0)
    assert (plain.trained.lowest, plain.trained.highest) == pytest.approx((-1.0, 1.0), abs=1e-3)
    assert added("sinusoidal").past is not None and added("sinusoidal").past.size == pytest.approx(1.0)  # type: ignore[union-attr]
    assert added("decimal").trained.highest == 9.0


def test_uniqueness_finds_equal_positions() -> None:
    clipped = added("learned(beyond=clip)")
    assert clipped.smallest_distance == 0.0 and clipped.nearest == (63, 64)
    assert "have the same vector" in words(probe_encoding("learned(beyond=clip)"))
    assert added("sinusoidal").smallest_distance > 0.1


def test_readers_recover_what_is_there() -> None:
    assert added("decimal").position_read == pytest.approx(1.0, abs=1e-3), "digits times powers of ten"
    assert added("sinusoidal").distance_read > 0.99
    assert added("learned(rows=256)").position_read < 0.1, "nothing is known of rows that were not fitted"
    at = torch.arange(200).double()
    noise = torch.randn(200, 4, dtype=torch.float64)
    assert recovered(noise, at, at % 4 == 0) < 0.2
    assert recovered(torch.cat((noise, 3 * at[:, None] + 7), dim=1), at, at % 4 == 0) == pytest.approx(1.0, abs=1e-3)
    assert position_read(torch.ones(100, 3, dtype=torch.float64)) < 0.01
    with pytest.raises(InputError, match="needs examples to fit"):
        recovered(torch.ones(1, 3), torch.ones(1), torch.tensor([True]))


def test_rope_decays_for_equal_content_and_not_for_random_content() -> None:
    """2410.06205: the decay holds for equal queries and keys alone."""
    scores = scored("rope")
    frequency = 10_000.0 ** -(torch.arange(0, 16, 2) / 16)
    curve = (torch.arange(256)[:, None] * frequency).cos().mean(dim=-1)
    found = torch.tensor(scores.equal.mean) / scores.equal.mean[0]  # type: ignore[operator]
    assert (found - curve).abs().max() < 0.25, "the mean over contents of a sum of cosines"
    near, far = scores.random.std_ends  # type: ignore[misc]
    assert far / near == pytest.approx(1.0, abs=0.1)
    text = words(probe_encoding("rope"))
    assert "equal contents score lower the farther" in text and "scores do not decay with distance" in text


def test_alibi_is_its_slopes() -> None:
    scores = scored("alibi")
    for head, bias in enumerate(scores.bias):
        slope = 2.0 ** (-8 * (head + 1) / 4)
        assert bias[0] == 0 and bias[100] == pytest.approx(-100 * slope)
    assert scores.distance_read == pytest.approx(1.0, abs=1e-4)
    assert "scores decay with distance" in words(probe_encoding("alibi"))


def waves(text: str) -> WavelengthProbe:
    found = probe_encoding(text).wavelengths
    assert found is not None
    return found


def test_wavelengths_before_and_after_scaling() -> None:
    plain, scaled = waves("rope"), waves("rope(scaling=linear,factor=4)")
    expected = 2 * math.pi * 10_000.0 ** (torch.arange(0, 16, 2) / 16)
    assert torch.allclose(torch.tensor(sorted(plain.after)[::2]), expected, rtol=1e-3)
    assert plain.before == plain.after == scaled.before
    assert torch.allclose(torch.tensor(scaled.after), 4 * torch.tensor(plain.after), rtol=1e-3)
    assert plain.whole_turns(plain.after) == 2 * int((expected <= 64).sum())
    assert waves("rope(scaling=dynamic,factor=4)").after != plain.after, "at the farthest position"
    assert waves("rope(scaling=linear,factor=4,base=500)").before == pytest.approx(waves("rope(base=500)").after)
    assert "before scaling" in words(probe_encoding("rope(scaling=linear,factor=4)"))


def test_one_encoding_at_a_time() -> None:
    with pytest.raises(InputError, match="takes one at a time"):
        probe_encoding("segment+t5")
