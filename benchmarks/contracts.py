"""What every positional encoding owes its user, as checks that run on anyone's implementation.

A `Subject` is one encoding of one library, used as that library's documentation says; it fills in the methods that make
sense for it. A contract without the methods it needs does not apply. A result is "" if the contract holds, otherwise a
few words on what was seen.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

FAR = 4096  # positions up to which precision is looked at
SOME = 512
SLACK = 8.0  # times the error of rounding once: enough for a product and a sum in bfloat16, far from aliasing
CLOSE = 1e-4
VOCABULARY = 29


class NotApplicableError(Exception):
    """The library does not offer this, or says that it does not."""


class Subject:
    """One encoding of one library."""

    package = ""  # as importlib.metadata knows it
    encoding = ""
    masks = True  # its functions hide later tokens; otherwise that is left to the user
    trained = False  # its frequencies are parameters, and casting parameters is meant to round them
    shift_invariant = False  # the library or the paper says that only distances count
    options: ClassVar[dict[str, Callable[[], object]]] = {}  # what its constructor offers, each put to use once

    def module(self) -> Any:
        """A fresh instance of what computes the encoding."""
        raise NotApplicableError

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        """What it gives for positions 0 to length - 1: a table, turned queries, or the bias of the last query.

        Not applicable if nothing that goes in has a dtype, and the module has another.
        """
        raise NotApplicableError

    def definition(self) -> tuple[Tensor, Tensor]:
        """What it gives, and what the paper's formula gives."""
        raise NotApplicableError

    def disturbances(self, module: Any, length: int) -> list[Callable[[], object]]:
        """Other calls, none of which may change what comes after."""
        return [
            lambda: self.values(module, length, torch.bfloat16),
            lambda: self.values(module, 2 * length, torch.float32),
        ]

    def model(self) -> Any:
        """A small causal model with this encoding; `spread` its weights, so that nothing hides in a zero."""
        raise NotApplicableError

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """[b, n, v]; positions [b, n]."""
        raise NotApplicableError

    def shifted(self, model: Any, tokens: Tensor, by: int) -> Tensor:
        """Logits with all positions moved by one number."""
        return self.logits(model, tokens, by + torch.arange(tokens.shape[1]).expand(len(tokens), -1))

    def padded(self, model: Any, tokens: Tensor, pad: int) -> Tensor:
        """Logits of the real tokens after `pad` tokens of padding on the left."""
        raise NotApplicableError

    def decoded(self, model: Any, tokens: Tensor, parts: list[tuple[int, int]]) -> list[Tensor]:
        """Logits of each part with a cache; parts are the first tokens, then one at a time, and two at the end."""
        raise NotApplicableError


def spread(model: nn.Module, by: float = 0.1) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(by * torch.randn(weight.shape, generator=generator))
    return model.eval()


def tokens(batch: int = 2, length: int = 24, seed: int = 1) -> Tensor:
    return torch.randint(3, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def queries(length: int, dtype: torch.dtype = torch.float32, heads: int = 1, width: int = 64, seed: int = 0) -> Tensor:
    return torch.randn(1, heads, length, width, dtype=torch.float32, generator=torch.Generator().manual_seed(seed)).to(
        dtype
    )


def typed(module: Any, dtype: torch.dtype) -> None:
    """For what takes no tensor: its dtype is that of its parameters and buffers."""
    held = [*module.parameters(), *module.buffers()] if isinstance(module, nn.Module) else []
    own = next((tensor.dtype for tensor in held if tensor.is_floating_point()), torch.float32)
    if own != dtype:
        raise NotApplicableError


def _apart(one: Tensor, two: Tensor, allowed: float = CLOSE) -> str:
    if one.shape != two.shape:
        return f"shape {tuple(one.shape)}, not {tuple(two.shape)}"
    error = (one.double() - two.double()).abs().max().item()
    return "" if error <= allowed * max(1.0, two.abs().max().item()) else f"off by {error:.2g}"


def causal(subject: Subject) -> str:
    """No token sees a later one."""
    if not subject.masks:
        raise NotApplicableError
    model, one = subject.model(), tokens()
    other = one.clone()
    other[:, 12:] = (other[:, 12:] - 2) % (VOCABULARY - 3) + 3
    with torch.no_grad():
        return _apart(subject.logits(model, one)[:, :12], subject.logits(model, other)[:, :12])


def cache(subject: Subject) -> str:
    """Decoding with a cache gives what a full pass over the same tokens gives."""
    model, given = subject.model(), tokens()
    parts = [(0, 10), *((n, n + 1) for n in range(10, 22)), (22, 24)]
    with torch.no_grad():
        for logits, (start, stop) in zip(subject.decoded(model, given, parts), parts, strict=True):
            if said := _apart(logits, subject.logits(model, given[:, :stop])[:, start:]):
                return f"{said} with {stop - start} new tokens" if stop - start > 1 else said
    return ""


def bfloat16(subject: Subject) -> str:
    """bfloat16 in, the module in float32: as near to the float32 result as rounding that once, at 4,096 positions."""
    return _rounded(subject, subject.module())


def moved(subject: Subject) -> str:
    """The same after `module.bfloat16()`."""
    module = subject.module()
    if subject.trained or not isinstance(module, nn.Module):
        raise NotApplicableError
    return _rounded(subject, module.bfloat16())


def _rounded(subject: Subject, module: Any) -> str:
    upcast = subject.values(subject.module(), FAR, torch.float32)
    computed = subject.values(module, FAR, torch.bfloat16)
    once = (upcast - upcast.bfloat16().float()).abs().max().item()
    error = (upcast - computed.float()).abs().max().item()
    return "" if error <= SLACK * once else f"off by {error:.2g}, rounding once by {once:.2g}"


def history(subject: Subject) -> str:
    """The result of a float32 call does not depend on what was computed before."""
    first = subject.values(subject.module(), SOME, torch.float32)
    disturbed = 0
    for number in range(len(subject.disturbances(None, SOME))):
        module = subject.module()
        try:
            subject.disturbances(module, SOME)[number]()
        except NotApplicableError:
            continue
        disturbed += 1
        again = subject.values(module, SOME, torch.float32)
        if again.dtype != first.dtype:
            return f"{again.dtype} in place of {first.dtype}".replace("torch.", "")
        if said := _apart(again, first, 1e-6):
            return said
    if not disturbed:
        raise NotApplicableError
    return ""


def shift(subject: Subject) -> str:
    """Adding one number to all positions changes nothing, where that is claimed."""
    if not subject.shift_invariant:
        raise NotApplicableError
    model, given = subject.model(), tokens()
    with torch.no_grad():
        return _apart(subject.shifted(model, given, 7), subject.logits(model, given))


def positions(subject: Subject) -> str:
    """Positions 0, 1, 2 ... passed for every sequence give what the default gives."""
    model, given = subject.model(), tokens()
    with torch.no_grad():
        usual = subject.logits(model, given)
        return _apart(subject.logits(model, given, torch.arange(given.shape[1]).expand(len(given), -1)), usual)


def padding(subject: Subject) -> str:
    """Padding on the left changes nothing."""
    model, given = subject.model(), tokens(length=16)
    with torch.no_grad():
        return _apart(subject.padded(model, given, 5), subject.logits(model, given))


def definition(subject: Subject) -> str:
    """The values are those of the paper, or of its authors' code."""
    computed, wanted = subject.definition()
    return _apart(computed, wanted)


def gradients(subject: Subject) -> str:
    """Every trained parameter of a model with this encoding receives a gradient."""
    model = subject.model()
    subject.logits(model, tokens()).logsumexp(dim=-1).square().sum().backward()
    dead = [n for n, p in model.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())]
    return f"none reaches {', '.join(dead[:2])}" if dead else ""


def options(subject: Subject) -> str:
    """What its constructor offers can be used."""
    if not subject.options:
        raise NotApplicableError
    for name, use in subject.options.items():
        try:
            use()
        except Exception as error:  # whatever it is, it should not be there
            return f"{name}: {type(error).__name__}"
    return ""


def float64(subject: Subject) -> str:
    """float64 in, float64 out."""
    module = subject.module()
    module = module.double() if isinstance(module, nn.Module) else module
    computed = subject.values(module, SOME, torch.float64).dtype
    return "" if computed == torch.float64 else str(computed).replace("torch.", "")


def default_dtype(subject: Subject) -> str:
    """A float32 call gives the same while torch's default dtype is another."""
    module = subject.module()
    usual = subject.values(module, FAR, torch.float32)
    torch.set_default_dtype(torch.bfloat16)
    try:
        computed = subject.values(module, FAR, torch.float32)
    finally:
        torch.set_default_dtype(torch.float32)
    return _apart(computed, usual, 1e-6)


CONTRACTS: dict[str, Callable[[Subject], str]] = {
    "causal": causal,
    "cache": cache,
    "positions": positions,
    "padding": padding,
    "shift": shift,
    "definition": definition,
    "bfloat16": bfloat16,
    "moved": moved,
    "float64": float64,
    "default dtype": default_dtype,
    "history": history,
    "gradients": gradients,
    "options": options,
}


def judge(subject: Subject, contract: str) -> str | None:
    """ "" if it holds, words if not, None if it does not apply. A call that raises where it should not is a failure."""
    torch.manual_seed(0)
    try:
        return CONTRACTS[contract](subject)
    except NotApplicableError:
        return None
    except Exception as error:
        return f"raises {type(error).__name__}"
