"""What happens to files: bytes are lost or changed, and something else stands in their place."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import torch

from ordinate.store.documents import content_sum

JSON: tuple[Any, ...] = (
    None, True, 0, -1, 10**12, 10**400, 0.5, 1e308, float("nan"), float("inf"), "", "x", "\x1b[31m", [], [1], [[1]], {},
    {"x": 1}, "a" * 30_000,
)  # fmt: skip


def damaged(draw: Random, data: bytes) -> bytes:
    """Bytes with some of them lost, changed, doubled or put in between."""
    if not data:
        return draw.randbytes(draw.randrange(100))
    at = draw.randrange(len(data))
    match draw.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[at:]
        case 2:
            return data[:at] + draw.randbytes(draw.choice((1, 4, 100))) + data[at:]
        case 3:
            return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        case 4:
            return data + data[:at]
    return b""


def damage(draw: Random, path: Path) -> None:
    """One file, by what it holds or by what it is."""
    inside: dict[str, Callable[[Random, Path], None]] = {".json": _document, ".jsonl": _lines, ".pt": tensors_in}
    match draw.randrange(11):
        case 0:
            path.unlink()
        case 1:
            path.unlink()
            path.mkdir()
        case 2:
            path.unlink()
            path.symlink_to(draw.choice((path.name, os.devnull, "nowhere")))
        case 3:
            path.unlink()
            os.mkfifo(path)
        case 4:
            path.write_bytes(b"[" * 100_000)
        case 9:
            forbidden = path if draw.random() < 0.5 else path.parent
            forbidden.chmod(draw.choice((0, 0o400, 0o500)))
        case 10 if draw.random() < 0.2:
            os.truncate(path, 3 * 2**30)
        case 5 | 6 | 7 if path.suffix in inside:
            inside[path.suffix](draw, path)
        case _:
            path.write_bytes(damaged(draw, path.read_bytes()))


def changed(draw: Random, content: Any, values: tuple[Any, ...]) -> Any:
    """Plain data with one thing in it replaced, left out or added, at any depth."""
    if not isinstance(content, dict | list) or not content or draw.random() < 0.05:
        return draw.choice(values)
    keys = list(content) if isinstance(content, dict) else list(range(len(content)))
    key = draw.choice(keys)
    inner = isinstance(content[key], dict | list) and draw.random() < 0.8
    content[key] = changed(draw, content[key], values) if inner else draw.choice(values)
    if draw.random() < 0.2:
        del content[key]
    elif isinstance(content, dict) and draw.random() < 0.1:
        content["more"] = draw.choice(values)
    return content


def tensors_in(draw: Random, path: Path) -> None:
    """A checkpoint of which one or two things are others."""
    content = torch.load(path, weights_only=True)
    for _ in range(draw.choice((1, 1, 2))):
        content = changed(draw, content, tensors())
    path.unlink()  # it may have a second name, under which it stays what it was
    torch.save(content, path)


def _document(draw: Random, path: Path) -> None:
    content = changed(draw, json.loads(path.read_bytes()), JSON)
    if isinstance(content, dict) and "sum" in content and draw.random() < 0.7:  # by somebody who knows of it
        with suppress(ValueError):  # NaN has none
            del content["sum"]
            content["sum"] = content_sum(content)
    path.write_text(json.dumps(content))


def _lines(draw: Random, path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(draw.randrange(len(lines) + 1), draw.choice((b"\n", b"null\n", b"{}\n", b"x\n", b"[[[[")))
    path.write_bytes(b"".join(lines))


def tensors() -> tuple[Any, ...]:
    one = torch.ones(8, 8)
    return (
        *JSON, torch.tensor(1e9), torch.tensor(float("nan")), torch.empty(0), one, one.double(), one.long(), one.bool(),
        one.to_sparse(), one.T, torch.ones(1).expand(10**9), torch.ones(8).expand(8, 8), torch.ones(1, device="meta"),
        torch.ones(8), torch.ones(4, 8), torch.ones(32, 8), torch.ones(32), torch.complex(one, one), 4, 8, 10**9, -3,
        4.0, "finished", "diverged", torch.nn.Parameter(one),
    )  # fmt: skip
