"""Documents packed in rows are to every encoding what they are apart: in their answers and in all gradients."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ordinate import InputError
from ordinate.core.errors import CausalError
from ordinate.core.positions import AttentionContext
from ordinate.model import attention
from ordinate.model.packed import Documents

from .cases import EVERY, NAMES, REGISTERED, VOCABULARY, Case, tokens

ROW = (9, 4, 11, 1, 4)  # shorter and longer documents in any order, one of a single token
ROWS = ((9, 4, 7), (3, 11, 6))  # two rows of 20 tokens
MODES = [("tokens", True), ("last", True), ("mean", False)]

every_name = pytest.mark.parametrize("name", REGISTERED)  # the first test takes their variants too
sampled = pytest.mark.sampled
every_mode = pytest.mark.parametrize(
    ("readout", "causal"), [("tokens", True), pytest.param("last", True, marks=sampled), ("mean", False)]
)
both_modes = pytest.mark.parametrize(
    ("readout", "causal"), [("tokens", True), pytest.param("mean", False, marks=sampled)]
)


@cache
def case_of(name: str, readout: str = "tokens", causal: bool = True) -> Case:
    settings = {} if readout == "tokens" else {"readout": readout, "classes": 3}
    try:
        return Case(name, causal, settings)
    except CausalError:
        return Case(name, True, settings | ({"readout": "mean"} if readout == "first" else {}))


def loss_of(case: Case, logits: Tensor, answers: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), answers.flatten(), reduction="sum")


def gradients(case: Case) -> dict[str, Tensor]:
    found = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in case.model.named_parameters()}
    case.model.zero_grad(set_to_none=True)
    return found


Places = Callable[[Case, int, int], Tensor]  # of a document by its number and length


def plain(case: Case, number: int, length: int) -> Tensor:
    return case.positions(length)


def shifted(case: Case, number: int, length: int) -> Tensor:
    return case.positions(length, start=2 * number + 3)


def grids(case: Case, number: int, length: int) -> Tensor:
    """A grid with as many columns as fit this document."""
    index, columns = torch.arange(length), number + 2
    return torch.stack((index // columns, index % columns), dim=-1)


def compared(
    case: Case, rows: tuple[tuple[int, ...], ...], places: Places = plain, explicit: bool = False
) -> tuple[tuple[Tensor, dict[str, Tensor]], tuple[Tensor, dict[str, Tensor]]]:
    """Logits of all documents in their order, and gradients: packed, and as the sum over separate passes."""
    classes, per_token = case.model.config.classes, case.model.config.readout == "tokens"
    lengths = [length for row in rows for length in row]
    texts = [tokens(1, length, seed=number) for number, length in enumerate(lengths)]
    spots = [places(case, number, length) for number, length in enumerate(lengths)]
    asked = [
        torch.randint(classes, (length if per_token else 1,), generator=torch.Generator().manual_seed(number))
        for number, length in enumerate(lengths)
    ]
    explicit = explicit or case.axes > 1

    def lay(parts: list[Tensor]) -> Tensor:
        """Documents one after the other, in as many rows as there are."""
        return torch.cat(parts).view(len(rows), sum(rows[0]), *parts[0].shape[1:])

    document_ids = lay([torch.full((length,), number) for number, length in enumerate(lengths)])
    more = case.inputs(lay(spots), explicit=explicit)
    logits = case.model(lay([text[0] for text in texts]), document_ids=document_ids, **more)
    loss_of(case, logits, torch.cat(asked)).backward()
    together = (logits.detach().flatten(0, -2), gradients(case))

    apart = []
    for text, spot, answers in zip(texts, spots, asked, strict=True):
        logits = case.model(text, **case.inputs(spot, explicit=explicit))
        loss_of(case, logits, answers).backward()
        apart.append(logits.detach().flatten(0, -2))
    return together, (torch.cat(apart), gradients(case))


def assert_same(
    one: tuple[Tensor, dict[str, Tensor]], two: tuple[Tensor, dict[str, Tensor]], tolerance: float = 1e-5
) -> None:
    """Equal up to the rounding of sums in another order, each tensor against the largest of its kind."""
    pairs = {"logits": (one[0], two[0])} | {name: (one[1][name], two[1][name]) for name in two[1]}
    largest = max(gradient.abs().max().item() for gradient in two[1].values())
    for name, (a, b) in pairs.items():
        assert a.shape == b.shape, name
        scale = max(1.0, b.abs().max().item()) if name == "logits" else largest
        assert (a - b).abs().max().item() <= tolerance * scale, name
    assert largest > 0


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[Documents]:
    """The documents of every forward pass that laid them out side by side."""
    found: list[Documents] = []
    decide = Documents.worth_laying_out

    def watched(context: AttentionContext) -> Documents | None:
        document_ids = decide(context)
        found.extend([] if document_ids is None else [document_ids])
        return document_ids

    monkeypatch.setattr(Documents, "worth_laying_out", staticmethod(watched))
    return found


def masked(patch: pytest.MonkeyPatch) -> None:
    """From here on, packed rows are computed whole, under a mask."""
    patch.setattr(Documents, "worth_laying_out", staticmethod(lambda context: None))


@pytest.mark.parametrize("name", EVERY)
@every_mode
def test_a_row_of_documents_equals_separate_ones(
    name: str, readout: str, causal: bool, laid_out: list[Documents]
) -> None:
    case = case_of(name, readout, causal)
    together, apart = compared(case, (ROW,))
    assert_same(together, apart)
    # a relation is one of rows, so its documents stay in them
    assert [document_ids.lengths.tolist() for document_ids in laid_out] == (
        [] if "relation" in case.extra_inputs else [list(ROW)]
    )


@every_name
@both_modes
def test_documents_at_places_of_their_own(name: str, readout: str, causal: bool, laid_out: list[Documents]) -> None:
    case = case_of(name, readout, causal)
    together, apart = compared(case, (ROW,), shifted, explicit=True)
    assert_same(together, apart)
    assert "relation" in case.extra_inputs or (len(laid_out) == 1 and laid_out[0].longest == max(ROW))
    if name in ("learned", "sinusoidal"):
        assert (apart[0] - compared(case, (ROW,))[1][0]).abs().max() > 1e-3  # it did look at them


@every_name
@both_modes
def test_several_rows_of_documents(name: str, readout: str, causal: bool, laid_out: list[Documents]) -> None:
    case = case_of(name, readout, causal)
    together, apart = compared(case, ROWS)
    assert_same(together, apart)
    assert "relation" in case.extra_inputs or len(laid_out) == 1


@pytest.mark.parametrize("name", [name for name in NAMES if "2d" in name])
@pytest.mark.parametrize(("readout", "causal"), [("tokens", False), ("mean", False)])
def test_grids_of_different_sizes(name: str, readout: str, causal: bool, laid_out: list[Documents]) -> None:
    together, apart = compared(case_of(name, readout, causal), ((4, 9, 8, 6),), grids)
    assert_same(together, apart)
    assert len(laid_out) == 1


@every_name
@both_modes
def test_documents_side_by_side_equal_rows_under_a_mask(
    name: str, readout: str, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(name, readout, causal)
    beside, _ = compared(case, (ROW,))
    masked(monkeypatch)
    dense, apart = compared(case, (ROW,))
    assert_same(beside, dense)
    assert_same(dense, apart)


@every_name
def test_one_long_document_beside_a_short_one_is_masked(name: str, laid_out: list[Documents]) -> None:
    """Side by side they would make more scores than in one row."""
    together, apart = compared(case_of(name), ((19, 1),))
    assert_same(together, apart)
    assert not laid_out


@pytest.mark.parametrize("name", ["none", "sinusoidal", "learned", "segment"])
@pytest.mark.parametrize(("readout", "causal"), [*MODES, ("tokens", False), ("first", False)])
def test_in_double_precision_next_to_nothing_differs(
    name: str, readout: str, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that compute nothing in float32 of their own behind the embeddings, by the kernel that does not either."""
    monkeypatch.setattr(attention, "SHORT", 0)
    case = deepcopy(case_of(name, readout, causal))
    case.model.double()
    together, apart = compared(case, (ROW,))
    assert_same(together, apart, 1e-12)


@pytest.mark.parametrize("readout", ["mean", "first", "last"])
def test_one_answer_for_each_document_in_its_place(readout: str) -> None:
    """By hand, from the hidden states of the row: the order of the documents is that of the answers."""
    case = case_of("alibi", readout, causal=readout == "last")
    x, ids = tokens(2, 20), torch.tensor([[5] * 9 + [2] * 4 + [5] * 7, [0] * 3 + [9] * 11 + [1] * 6])
    hidden: list[Tensor] = []
    assert case.model.norm is not None
    case.model.norm.register_forward_hook(lambda module, inputs, output: hidden.append(output))
    answers = case.run(x, document_ids=ids)
    assert answers.shape == (6, 3)
    ends = [(row, start, start + length) for row in (0, 1) for start, length in zip(
        (0, ROWS[row][0], sum(ROWS[row][:2])), ROWS[row], strict=True)]  # fmt: skip
    assert case.model.head is not None
    for answer, (row, start, stop) in zip(answers, ends, strict=True):
        part = hidden[0][row, start:stop]
        read = part.mean(dim=0) if readout == "mean" else part[0 if readout == "first" else -1]
        torch.testing.assert_close(answer, case.model.head(read), atol=1e-5, rtol=1e-5)


def test_documents_in_another_order_are_answers_in_another_order() -> None:
    case = case_of("rope", "last")
    texts = [tokens(1, length, seed=length) for length in (5, 7, 4, 6)]

    def answers(order: list[int]) -> Tensor:
        ids = torch.cat([torch.full((1, texts[i].shape[1]), number) for number, i in enumerate(order)], dim=1)
        places = torch.cat([case.positions(texts[i].shape[1]) for i in order])
        return case.model(torch.cat([texts[i] for i in order], dim=1), document_ids=ids, **case.inputs(places))

    torch.testing.assert_close(answers([2, 0, 3, 1]), answers([0, 1, 2, 3])[[2, 0, 3, 1]], atol=1e-5, rtol=1e-5)


@every_name
def test_documents_whose_positions_go_on_are_laid_out_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(name, settings={"document_positions": "continue"})
    x, ids = tokens(2, 20), torch.tensor([[0] * 5 + [1] * 8 + [2] * 7, [0] * 9 + [1] * 9 + [2] * 2])
    found = case.run(x, document_ids=ids)
    masked(monkeypatch)
    torch.testing.assert_close(found, case.run(x, document_ids=ids), atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("readout", ["tokens", "last"])
def test_one_row_of_ids_may_stand_for_all_rows(readout: str) -> None:
    case = case_of("alibi", readout)
    x, ids = tokens(2, 20), torch.tensor([[0] * 5 + [1] * 8 + [2] * 7])
    torch.testing.assert_close(case.run(x, document_ids=ids), case.run(x, document_ids=ids.repeat(2, 1)))


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        (dict(readout="readout"), {}),
        (dict(readout="mean"), dict(padding_mask=torch.ones(1, VOCABULARY, dtype=torch.bool))),
    ],
)
def test_what_cannot_be_read_from_documents_is_refused(settings: dict[str, Any], more: dict[str, Tensor]) -> None:
    case = Case("rope", settings=settings | {"classes": 3})
    ids = torch.arange(VOCABULARY)[None] // 4
    with pytest.raises(InputError, match="leave out padding_mask, or set readout=tokens") as caught:
        case.run(tokens(1, VOCABULARY), document_ids=ids, **more)
    assert "\n" not in str(caught.value)
