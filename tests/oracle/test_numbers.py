"""Abacus and position coupling against loops over tokens, and against the examples of their papers."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import embedding

from ordinate import InputError, ModelConfig, Positions, Transformer, encodings
from ordinate.core.coverage import draw
from ordinate.model.packed import count_positions

compare = settings(deadline=None, derandomize=True, max_examples=40)
PLUS, EQUALS, START, SPACE = 10, 11, 12, 13


def read(text: str) -> list[int]:
    return [{"+": PLUS, "=": EQUALS, "$": START, " ": SPACE}.get(c) or int(c) for c in text]


def place_of(text: str, first: int = 0) -> Positions:
    tokens = torch.tensor([read(text)])
    return Positions(Positions.range(len(text), start=first).values, tokens=tokens)


def ids_of(name: str, positions: Positions, **parameters: object) -> list[list[int]]:
    encoding = encodings.create(name, dim=4, heads=1, length=8, **parameters)
    return encoding.ids(positions).tolist()


@st.composite
def texts(draw_: Callable[..., object]) -> dict[str, list[int]]:
    """A row of tokens cut into documents, some of them padding, at positions that mean nothing."""
    length = draw_(st.integers(1, 30))

    def rows(low: int, high: int) -> list[int]:
        return draw_(st.lists(st.integers(low, high), min_size=length, max_size=length))

    cuts = rows(0, 4)
    document_ids = [sum(cut == 0 for cut in cuts[: i + 1]) for i in range(length)]
    return {
        "tokens": rows(-1, 12), "document_ids": document_ids, "padding_mask": [k > 0 for k in rows(0, 5)],
        "positions": rows(0, 50)
    }  # fmt: skip


def by_loop(text: dict[str, list[int]], first: int, last: int) -> tuple[list[int], list[int]]:
    """Place of every digit in its number, and where its document begins; token by token, in plain Python."""
    counts, starts = [], []
    for i in range(len(text["tokens"])):
        count, j = 0, i
        while (
            j >= 0
            and text["padding_mask"][j]
            and text["document_ids"][j] == text["document_ids"][i]
            and first <= text["tokens"][j] <= last
        ):
            count, j = count + 1, j - 1
        counts.append(count)
        real = [
            j for j in range(i + 1) if text["padding_mask"][j] and text["document_ids"][j] == text["document_ids"][i]
        ]
        starts.append(text["positions"][real[0]] if real else -1)
    return counts, starts


@compare
@given(texts(), st.integers(0, 6), st.integers(6, 11))
def test_ids_by_loop(text: dict[str, list[int]], first: int, last: int) -> None:
    """With padding and documents; where nothing is real yet, nobody looks."""
    row = {name: torch.tensor([value]) for name, value in text.items()}
    positions = Positions(row.pop("positions").unsqueeze(-1), **row)
    counts, starts = by_loop(text, first, last)
    abacus = ids_of("abacus", positions, digits=(first, last))[0]
    coupled = ids_of("coupled", positions, digits=(first, last))[0]
    for i, (count, start) in enumerate(zip(counts, starts, strict=True)):
        if text["padding_mask"][i]:
            assert abacus[i] == (count + start if count else 0)
            assert coupled[i] == count + start


@compare
@given(st.integers(1, 4), st.integers(1, 20), st.integers(1, 4))
def test_rows_with_places_of_their_own_or_shared(batch: int, length: int, shared: int) -> None:
    """Whichever of tokens, positions, documents and padding is one row for all."""
    source = torch.Generator().manual_seed(length)
    tokens = torch.randint(0, 13, (batch, length), generator=source)
    rows = [1 if shared == kind else batch for kind in range(3)]
    positions = torch.randint(0, 40, (rows[0], length, 1), generator=source)
    document_ids = torch.randint(0, 2, (rows[1], length), generator=source).cumsum(1)
    padding_mask = torch.rand(rows[2], length, generator=source) < 0.8
    found = ids_of("abacus", Positions(positions, document_ids=document_ids, tokens=tokens, padding_mask=padding_mask))
    for i in range(batch):
        pick = [min(i, count - 1) for count in rows]
        alone = Positions(
            positions[pick[0]][None], document_ids=document_ids[pick[1]][None], tokens=tokens[i : i + 1],
            padding_mask=padding_mask[pick[2]][None],
        )  # fmt: skip
        assert found[i] == ids_of("abacus", alone)[0]


def test_the_abacus_of_the_paper() -> None:
    """98282 + 3859172 = 2787472, numbers reversed: each counts from its own first digit, signs are 0."""
    text = "98282+3859172=2787472"
    expected = [1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]
    assert int("98282"[::-1]) + int("3859172"[::-1]) == int("2787472"[::-1])
    assert ids_of("abacus", place_of(text)) == [expected]
    offset = 17  # drawn in training and added to all that is not 0
    assert ids_of("abacus", place_of(text, first=offset)) == [[i + offset if i else 0 for i in expected]]


def test_the_coupling_of_the_paper() -> None:
    """653 + 049 = 0702 as its authors number it, answer reversed. Counted in the text with operands reversed too, ids
    run the other way: every token has 5 minus its published id, the signs included."""
    ids = [2, 3, 4, 5, 2, 3, 4, 5, 4, 3, 2, 1]
    tokens = torch.tensor([read("653+049=2070")])
    given_ids = Positions(torch.tensor(ids).view(1, -1, 1), tokens=tokens)
    assert ids_of("coupled", given_ids, source="given") == [ids]

    operands_reversed = [2, 1, 0, 3, 6, 5, 4, 7, 8, 9, 10, 11]  # 356+940=2070
    mirrored = [5 - ids[i] for i in operands_reversed]
    assert "".join("653+049=2070"[i] for i in operands_reversed) == "356+940=2070"
    assert ids_of("coupled", place_of("356+940=2070")) == [mirrored]


@compare
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 40))
def test_digits_of_equal_worth_share_an_id(a: int, b: int, start: int) -> None:
    text = f"{str(a)[::-1]}+{str(b)[::-1]}={str(a + b)[::-1]}"
    (ids,) = ids_of("coupled", place_of(text, first=start))
    worth = {}
    for token, number in zip(text, ids, strict=True):
        if not token.isdigit():
            assert number == start  # next to, and just below, the least significant digit's
            continue
        worth.setdefault(number - start - 1, []).append(int(token))
    digits = [[int(d) for d in str(n)[::-1]] for n in (a, b, a + b)]
    for positions, found in worth.items():
        assert found == [number[positions] for number in digits if positions < len(number)]


@compare
@given(st.integers(2, 40), st.integers(1, 9))
def test_given_ids_are_a_lookup(rows: int, dim: int) -> None:
    encoding = encodings.create("coupled", dim=dim, heads=1, length=8, source="given", rows=rows)
    ids, x = torch.randint(0, rows, (3, 20)), torch.randn(3, 20, dim)
    assert torch.equal(encoding.embed(x, Positions(ids.unsqueeze(-1))), x + embedding(ids, encoding.table))
    with pytest.raises(InputError, match=f"position {rows} is out of range"):
        encoding.embed(x, Positions(torch.full((1, 20, 1), rows)))


@pytest.mark.parametrize("name", ["abacus", "coupled"])
def test_the_size_is_that_of_tokens(name: str) -> None:
    for size, expected in ((1.0, 0.5), (0.2, 0.1), (None, 0.02)):
        table = encodings.create(name, dim=256, heads=1, length=8, token_size=0.5, size=size).table
        assert table.std().item() == pytest.approx(expected, rel=0.02)
    assert encodings.create(name, dim=256, heads=1, length=8).table.std().item() == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize("name", ["abacus", "coupled"])
def test_dropout_drops_from_the_sum_in_training_alone(name: str) -> None:
    encoding = encodings.create(name, dim=64, heads=1, length=8, dropout=0.25)
    x, positions = torch.randn(1, 12, 64), place_of("123+456=9750"[:12])
    kept = encoding.eval().embed(x, positions)
    dropped = encoding.train().embed(x, positions)
    share = (dropped == 0).float().mean().item()
    assert share == pytest.approx(0.25, abs=0.08)
    torch.testing.assert_close(dropped[dropped != 0], kept[dropped != 0] / 0.75)


@pytest.mark.parametrize("name", ["abacus", "coupled"])
def test_offsets_hold_in_cached_decoding(name: str) -> None:
    """Token by token, with padding on the left and positions that begin anywhere, as in one pass."""
    config = ModelConfig(vocabulary=14, encoding=f"{name}(rows=80)", dim=16, heads=2, layers=2, length=16, dropout=0.0)
    model = Transformer(config).eval()
    tokens = torch.randint(0, 14, (3, 16))
    padding_mask = torch.arange(16) >= torch.tensor([[0], [3], [6]])
    start = draw("offset", sides=(1,), limit=40, generator=torch.Generator().manual_seed(1), rows=3)
    assert start.unique().numel() == 3
    positions = count_positions(padding_mask) + start
    whole = model(tokens, positions=positions, padding_mask=padding_mask)
    cache, steps = model.cache(3, 16), []
    for i in range(16):
        part = slice(i, i + 1)
        steps.append(
            model(tokens[:, part], positions=positions[:, part], padding_mask=padding_mask[:, part], cache=cache)
        )
    found = torch.cat(steps, dim=1)
    torch.testing.assert_close(found[padding_mask], whole[padding_mask], atol=1e-5, rtol=1e-5)
    plain = model(tokens, padding_mask=padding_mask)
    assert (whole - plain)[padding_mask].abs().max() > 1e-3  # the offset was seen


@pytest.mark.parametrize("name", ["abacus", "coupled"])
def test_numbers_longer_than_the_table_are_refused(name: str) -> None:
    encoding = encodings.create(name, dim=4, heads=1, length=8, rows=4)
    encoding.embed(torch.zeros(1, 4, 4), place_of("123+"))
    with pytest.raises(InputError, match=f"{name} has rows for ids up to 3, but a number of this text reaches 4"):
        encoding.embed(torch.zeros(1, 4, 4), place_of("1234"))
    with pytest.raises(InputError, match="reaches 9"):
        encoding.embed(torch.zeros(1, 4, 4), place_of("123+", first=6))


@pytest.mark.parametrize("name", ["abacus", "coupled"])
@pytest.mark.parametrize("digits", [(3,), (5, 4), (1, 2, 3)])
def test_digits_are_two_ids_in_order(name: str, digits: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="the first and the last token id"):
        encodings.create(name, dim=4, heads=1, length=8, digits=digits)


def test_what_would_be_idle_is_refused() -> None:
    with pytest.raises(InputError, match="which only source=tokens reads"):
        encodings.create("coupled", dim=4, heads=1, length=8, source="given", digits=(1, 5))
