"""Command lines: mostly right, with something hostile in them."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from random import Random

from ordinate import encodings, tasks
from ordinate.core.registry import Registry
from ordinate.model import ModelConfig
from ordinate.training import RunConfig
from ordinate.training.overhead import BenchSizes

from .hostile import WORDS, lay_out, number, path, value

KEYS = [field.name for kind in (RunConfig, ModelConfig) for field in fields(kind)]
KEYS += ["epochs", "preset", "model.dim", "model", "stpes", "", "model.", ".dim", "a.b.c"]
USUAL = {
    "dim": "8", "heads": "2", "layers": "1", "steps": "2", "batch": "8", "evaluation_sequences": "20", "lr": "0.01",
}  # fmt: skip
SMALL = [f"{key}={given}" for key, given in USUAL.items()]


def line(draw: Random, folder: Path) -> list[str]:
    """The arguments of one command, in a folder with whatever they name."""
    lay_out(folder)
    makers: list[Callable[[Random], list[str]]] = [_train] * 8 + [_compare] * 3 + [_show] * 4 + [_bench] * 2
    makers += [_list, _status, _report, _analyze, _app, _anything, _of_store, _lm, _lm]
    words = draw.choice(makers)(draw)
    if draw.random() < 0.1:
        words.insert(draw.randrange(len(words) + 1), value(draw))
    return [word.replace("\0", "") for word in words]


def _one(draw: Random, registry: Registry) -> str:
    """A name, right or not, with or without parameters."""
    name = draw.choice(registry.names()) if draw.random() < 0.95 else value(draw)
    known = list(registry.parameters(name)) if name in registry.names() else ["x"]
    if draw.random() < 0.5 or not known:
        return name
    given = draw.sample(known, min(len(known), draw.choice((1, 1, 2))))
    return f"{name}({','.join(f'{key}={value(draw)}' for key in given)})"


def _encoding(draw: Random) -> str:
    one = _one(draw, encodings.registry)
    return f"{one}+{_one(draw, encodings.registry)}" if draw.random() < 0.1 else one


def _task(draw: Random) -> str:
    return _one(draw, tasks.registry)


def pairs(draw: Random) -> list[str]:
    """Settings of a small run, of which a few are hostile."""
    given = dict(USUAL) if draw.random() < 0.8 else {}
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        given[draw.choice(KEYS)] = value(draw)
    found = [f"{key}={text}" for key, text in given.items()]
    return found if draw.random() < 0.95 else [*found, value(draw)]


def _store(draw: Random) -> list[str]:
    return ["--store", path(draw)] if draw.random() < 0.2 else []


def _file(draw: Random) -> list[str]:
    return ["--file", path(draw)] if draw.random() < 0.1 else []


def _train(draw: Random) -> list[str]:
    """A run with a hostile size is only looked at; one that is small may be done."""
    if draw.random() < 0.2:
        return ["train", draw.choice(tasks.names()), "-e", draw.choice(encodings.names()), *SMALL, *_store(draw)]
    more = ["--dry-run", *_store(draw), *_file(draw), *(["--json"] if draw.random() < 0.1 else [])]
    return ["train", _task(draw), "-e", _encoding(draw), *pairs(draw), *more]


def _compare(draw: Random) -> list[str]:
    named = ",".join(_encoding(draw) for _ in range(draw.choice((1, 2, 2, 2, 3))))
    more = ["--dry-run", *_store(draw), *_file(draw)]
    for option in ("--seeds", "--workers", "--within", "--rates"):
        more += [option, value(draw)] if draw.random() < 0.2 else []
    more += [option for option in ("--quick", "--yes", "--json") if draw.random() < 0.2]
    return ["compare", _task(draw), "-e", named, *pairs(draw), *more]


def _show(draw: Random) -> list[str]:
    return ["show", draw.choice((_task, _encoding, _encoding))(draw), *(["--json"] if draw.random() < 0.3 else [])]


def _bench(draw: Random) -> list[str]:
    keys = [field.name for field in fields(BenchSizes)]
    given = dict(dim="8", heads="2", layers="1", batch="1", length="8") | {draw.choice(keys): number(draw)}
    named = ["-e", _encoding(draw)]
    return ["bench", "--quick", *named, *(f"{key}={text}" for key, text in given.items())]


def _list(draw: Random) -> list[str]:
    return ["list", draw.choice(("encodings", "tasks", value(draw)))]


def _status(draw: Random) -> list[str]:
    return ["status", "--store", path(draw), *(["--json"] if draw.random() < 0.5 else [])]


def _report(draw: Random) -> list[str]:
    return ["report", *([value(draw)] if draw.random() < 0.3 else []), "--store", path(draw), *_output(draw)]


def _analyze(draw: Random) -> list[str]:
    return ["analyze", path(draw), *_output(draw)]


def _output(draw: Random) -> list[str]:
    found = ["-o", path(draw)] if draw.random() < 0.4 else []
    return found + (["--format", draw.choice(("html", "md", "csv", "tex", "json", "x"))] if draw.random() < 0.4 else [])


def _of_store(draw: Random) -> list[str]:
    """A whole store; none that would be made anew where a path leads."""
    words = {
        "check": ["--repair"] * draw.randrange(2) + ["--json"] * draw.randrange(2),
        "pack": [path(draw), *([value(draw)] if draw.random() < 0.3 else [])],
        "unpack": [path(draw)],
    }
    command = draw.choice(list(words))
    return ["store", command, *words[command], "--store", path(draw)]


def _lm(draw: Random) -> list[str]:
    """Language models: only what is told before anything is trained."""
    size = draw.choice(("nano", "micro", value(draw)))
    named = ["--size", size, "-e", _encoding(draw), *(pairs(draw) if draw.random() < 0.3 else [])]
    more = ["--data", path(draw)] if draw.random() < 0.5 else []
    more += ["--budget", draw.choice(("1M", "1M,2M", value(draw)))] if draw.random() < 0.5 else []
    for option in ("--checkpoints", "--seed", "--device"):
        more += [option, value(draw)] if draw.random() < 0.2 else []
    source = draw.choice(("text:", "jsonl:", "parquet:", "")) + path(draw)
    text = ["lm", "prepare", source, "--dry-run", "-o", path(draw)]
    for option in ("--vocabulary", "--tokenizer-bytes", "--valid", "--max-shards", "--workers"):
        text += [option, value(draw)] if draw.random() < 0.2 else []
    sizes = ["lm", "sizes", "-e", _encoding(draw), "--json"]
    return draw.choice((["lm", "plan", *named, *more], ["lm", "train", *named, *more, "--dry-run"], text, sizes))


def _app(draw: Random) -> list[str]:
    """Never one that would start to serve."""
    return ["app", "--port", draw.choice(("70000", "1e3", "x", "9" * 400, "-100"))]


def _anything(draw: Random) -> list[str]:
    return [draw.choice((*WORDS, "--help", "--version", "train", "compare")) for _ in range(draw.randrange(1, 4))]
