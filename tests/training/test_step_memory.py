"""Memory of a step, counted."""

import pytest
import torch
from torch import Tensor, nn

from ordinate import encodings
from ordinate.core.task import Batch
from ordinate.model import Transformer
from ordinate.training.step_memory import counted_memory as memory

from .runs import small


class Square(nn.Module):
    """Keeps one tensor of the size of its input, and no other."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, tokens: Tensor, *, positions: Tensor | None = None) -> Tensor:
        return (tokens.float() + self.weight) ** 2


def test_what_is_kept_is_counted_once() -> None:
    tokens = torch.zeros(3, 5, dtype=torch.long)
    assert memory(Square(), Batch(tokens, tokens)) == 4 * 4 + 3 * 5 * 4


def test_longer_sequences_and_tables_need_more() -> None:
    def of(encoding: str, length: int) -> int:
        config = small(encoding=encoding)
        tokens = torch.zeros(4, length, dtype=torch.long)
        return memory(Transformer(config.model), Batch(tokens, tokens))

    assert of("rope", 8) > of("rope", 4)
    assert of("learned", 8) - of("none", 8) >= 4 * 4 * 8 * 16  # its rows, four times


def on_plain_text(name: str) -> bool:
    """Whether an encoding needs to be told nothing but the tokens."""
    example = encodings.example(name)
    return example.shape.axes == 1 and not {"segments", "relation"} & set(example.extra_inputs)


@pytest.mark.parametrize("name", filter(on_plain_text, encodings.names()))
def test_it_leaves_the_model_as_it_was(name: str) -> None:
    model = Transformer(small(encoding=name).model).eval()
    tokens = torch.zeros(2, 8, dtype=torch.long)
    first = memory(model, Batch(tokens, tokens))
    assert not model.training and memory(model, Batch(tokens, tokens)) == first > 0
