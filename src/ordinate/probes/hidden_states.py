"""What the hidden states of each layer hold: position, relative distance, rank, and how alike tokens are."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.core.seeds import generator
from ordinate.model import Transformer
from ordinate.probes.readers import determination, pair_features, recovered, ridge

PAIRS = 4096  # of tokens, for the reader of relative distance
ROWS = 8192  # tokens that readers of position see
TESTED = 4  # one sequence in so many tests the readers
MEASURED = 16  # sequences whose rank is measured

States = list[Float[Tensor, "b n d"]]  # the input of the first layer, then the output of every layer


@dataclass(frozen=True)
class StateProbe:
    """The hidden states H [n, d] of one depth, over sequences.

    position: R^2 of a ridge reader of a token's index from its state; position_exact: how often a ridge reader of one
    target per index has its largest output at the right one. distance: R^2 of a ridge reader of i - j from the states
    of tokens i and j of a sequence, and their product by channel. All on sequences that the reader was not fitted to.
    effective_rank: mean of exp(-sum p log p), p = singular values of H over their sum; 1 if all tokens are alike.
    similarity: mean cosine of two different tokens of a sequence.
    """

    position: float
    position_exact: float
    distance: float
    effective_rank: float
    similarity: float


def states_of(model: Transformer, tokens: Int[Tensor, "b n"], positions: Tensor | None) -> States:
    """The hidden states of our own transformer at every depth, caught between its blocks."""
    states: States = []
    first = model.blocks[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
    hooks = [
        first,
        *(block.register_forward_hook(lambda _, inputs, output: states.append(output)) for block in model.blocks),
    ]
    try:
        with torch.inference_mode():
            model(tokens, positions=positions)
    finally:
        for hook in hooks:
            hook.remove()
    return states


def sequences_to_read(sequences: int, tokens: int) -> int:
    """How many sequences readers need at most."""
    return min(sequences, max(TESTED, ROWS // tokens))


def probe_state(states: Float[Tensor, "b n d"]) -> StateProbe:
    """All numbers of one depth."""
    states = states.float()
    b, n, _ = states.shape
    tested = (torch.arange(b) % TESTED == TESTED - 1)[:, None].expand(b, n).flatten()
    flat, at = states.flatten(0, 1), torch.arange(n).repeat(b)
    one_hot = torch.nn.functional.one_hot(at, n).double()
    guesses = ridge(flat, torch.cat((at[:, None].double(), one_hot), dim=1), tested)
    exact = (guesses[:, 1:].argmax(dim=1) == at[tested]).double().mean()
    return StateProbe(
        position=determination(guesses[:, :1], at[tested, None].double()),
        position_exact=float(exact),
        distance=distance_read(states),
        effective_rank=sum(map(effective_rank, states[:MEASURED])) / len(states[:MEASURED]),
        similarity=sum(map(similarity, states)) / b,
    )


def distance_read(states: Float[Tensor, "b n d"]) -> float:
    """R^2 of a reader of i - j from two tokens of a sequence, on sequences that it was not fitted to."""
    b, n, _ = states.shape
    source = generator(0, "probe", "token pairs", b, n)
    row = torch.randint(b, (PAIRS,), generator=source)
    i, j = torch.randint(n, (2, PAIRS), generator=source)
    return recovered(pair_features(states[row, i], states[row, j]), (i - j).double(), row % TESTED == TESTED - 1)


def effective_rank(states: Float[Tensor, "n d"]) -> float:
    """exp of the entropy of the singular values over their sum (Roy and Vetterli 2007)."""
    values = torch.linalg.svdvals(states.double())
    share = values / values.sum().clamp(min=1e-30)
    return float(torch.special.entr(share).sum().exp())


def similarity(states: Float[Tensor, "n d"]) -> float:
    """Mean cosine of two different tokens: (||sum of unit vectors||^2 - n) / (n (n - 1))."""
    n = len(states)
    if n < 2:
        return 1.0
    unit = torch.nn.functional.normalize(states.double(), dim=-1)
    return float((unit.sum(dim=0).square().sum() - n) / (n * (n - 1)))
