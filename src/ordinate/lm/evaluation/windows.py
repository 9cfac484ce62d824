"""Windows over a text: which tokens a model reads at once, and which of them are scored, each exactly once."""

from dataclasses import dataclass

from ordinate.core.errors import InputError


@dataclass(frozen=True)
class Window:
    """The tokens from `start` to `stop`, exclusive, are read; the last `scored` of them are targets.

    A target is predicted from all tokens of the window before it, and the first token of a window is never a target.
    """

    start: int
    stop: int
    scored: int

    @property
    def context(self) -> int:
        """The number of inputs: all tokens but the last."""
        return self.stop - self.start - 1


def rolling_windows(tokens: int, context: int, stride: int) -> list[Window]:
    """Windows that score every token of a text but its first, each once.

    The first window scores all of its targets, each later one the next `stride`, with as much of the text before them
    as fits into `context` inputs. A stride as long as the context gives disjoint windows: each restarts.
    """
    _check(context, stride)
    windows, at = [], 1
    while at < tokens:
        stop = min(tokens, at + (context if at == 1 else stride))
        windows.append(Window(max(0, stop - 1 - context) if stride < context else at - 1, stop, stop - at))
        at = stop
    return windows


def target_windows(first: int, stop: int, context: int, stride: int) -> list[Window]:
    """Windows that score the targets from `first` to `stop`, exclusive, each with the `context` tokens before the
    window's last target: at most so many tokens before a target, at least `context - stride + 1`."""
    _check(context, stride)
    spans = [(at, min(stop, at + stride)) for at in range(first, stop, stride)]
    if spans and spans[0][1] - 1 < context:
        raise InputError(f"a window that ends at token {spans[0][1]} has no room for a context of {context}")
    return [Window(end - 1 - context, end, end - at) for at, end in spans]


def _check(context: int, stride: int) -> None:
    if not 1 <= stride <= context:
        raise InputError(f"a window of {context} tokens moves by 1 to {context}, got a stride of {stride}")
