"""Which libraries keep which contracts: `python -m benchmarks.conformance [--write]`.

Prints a table; `--write` makes docs/CONFORMANCE.md of it, with a snippet from benchmarks/faults for every failure. A
failure without a snippet is an error, and so is a snippet without a failure.
"""

import argparse
import ast
import contextlib
import io
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch

from benchmarks.contracts import CONTRACTS, Subject, judge
from benchmarks.subjects import subjects

FAULTS = Path(__file__).parent / "faults"
PAGE = Path(__file__).parents[1] / "docs" / "CONFORMANCE.md"

HEAD = """# Conformance

What positional encodings owe to those who use them, checked on the libraries that ship them, each used as its own
documentation says, on a CPU. *yes*: the contract holds. **no**: it does not, and the link leads to a few lines that
show it. -: the library does not offer this, or says itself that it does not, or it makes no sense there.

Written by `python -m benchmarks.conformance --write` for the versions below; tests run every snippet and compare what
it prints. Newer versions may have changed: run it.

Two rows need a word. Dynamic NTK is decoded in models of one layer, theirs and ours: in deeper ones every hidden state
changes with the length, and no cache can follow. FoX in x-transformers is looked at to 1,024 positions, not 4,096,
because it builds the whole square.
"""


@dataclass(frozen=True)
class Fault:
    """A snippet, and the failures that it shows."""

    name: str
    package: str
    encodings: tuple[str, ...]
    contracts: tuple[str, ...]
    words: str
    code: str

    @property
    def failures(self) -> set[tuple[str, str, str]]:
        return {(self.package, encoding, contract) for encoding in self.encodings for contract in self.contracts}

    @property
    def title(self) -> str:
        return f"{self.package}, {' and '.join(self.encodings)}: {' and '.join(self.contracts)}"

    def shows(self) -> str:
        """What the snippet prints."""
        printed, threads = io.StringIO(), torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(self.code, f"{self.name}.py", "exec"), {"__name__": self.name})
        finally:
            torch.set_default_dtype(torch.float32)
            torch.set_num_threads(threads)
        return printed.getvalue().strip()


def faults() -> list[Fault]:
    """All snippets. The text on top of each says what it shows: package | encodings | contracts, and a few words."""
    results = []
    for file in sorted(FAULTS.glob("*.py")):
        text = file.read_text()
        about = ast.get_docstring(ast.parse(text))
        assert about is not None, file
        first, _, words = about.partition("\n\n")
        package, encodings, contracts = (part.strip() for part in first.split("|"))
        code = text.split('"""', 2)[2].strip()
        split = [tuple(part.strip() for part in field.split(";")) for field in (encodings, contracts)]
        results.append(Fault(file.stem, package, *split, " ".join(words.split()), code))
    return results


Verdicts = dict[tuple[str, str, str], str | None]


def verdicts(chosen: list[Subject]) -> Verdicts:
    """Of every contract, by package, encoding and contract."""
    with torch.random.fork_rng():
        return {(s.package, s.encoding, c): judge(s, c) for s in chosen for c in CONTRACTS}


def unexplained(results: Verdicts, snippets: list[Fault]) -> list[str]:
    """Failures without a snippet, and snippets without a failure; ours may not fail at all."""
    failures = {where for where, said in results.items() if said}
    shown = {where for fault in snippets for where in fault.failures}
    problems = [f"{', '.join(where)}: {results[where]}, and no snippet shows it" for where in sorted(failures - shown)]
    return problems + [f"{', '.join(where)}: a snippet, but no failure" for where in sorted(shown - failures)]


def table(results: Verdicts, snippets: list[Fault]) -> str:
    """One row per library and encoding, one column per contract."""
    links = {where: fault.name for fault in snippets for where in fault.failures}
    lines = [f"| library | encoding | {' | '.join(CONTRACTS)} |", "|---|---|" + ":-:|" * len(CONTRACTS)]
    for package, encoding in dict.fromkeys((package, encoding) for package, encoding, _ in results):
        cells = []
        for contract in CONTRACTS:
            said = results[package, encoding, contract]
            link = links.get((package, encoding, contract), "")
            cells.append("-" if said is None else "yes" if not said else f"[**no**](#{link})")
        lines.append(f"| {package} | {encoding} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(results: Verdicts, snippets: list[Fault]) -> str:
    """The whole document."""
    packages = dict.fromkeys(package for package, _, _ in results)
    versions = "\n".join(f"- {package} {version(package)}" for package in packages)
    meanings = "\n".join(f"- **{name}**: {(check.__doc__ or '').strip()}" for name, check in CONTRACTS.items())
    parts = [HEAD, f"{versions}\n- on torch {torch.__version__.partition('+')[0]}\n", "## Contracts\n", f"{meanings}\n"]
    parts += [f"{table(results, snippets)}\n", "## What fails\n"]
    order = list(packages)
    for fault in sorted(snippets, key=lambda f: order.index(f.package)):
        parts.append(
            f'<a id="{fault.name}"></a>\n'
            f"### {fault.title}\n\n{fault.words}\n\n```python\n{fault.code}\n```\n\n```\n{fault.shows()}\n```\n"
        )
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.conformance", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/CONFORMANCE.md")
    given = parser.parse_args()
    results, snippets = verdicts(subjects()), faults()
    for package, encoding in dict.fromkeys((package, encoding) for package, encoding, _ in results):
        said = {contract: results[package, encoding, contract] for contract in CONTRACTS}
        held = ", ".join(contract for contract, words in said.items() if words == "")
        print(f"{package} {version(package)}, {encoding}\n  holds: {held}")
        for contract, words in said.items():
            if words:
                print(f"  FAILS {contract}: {words}")
    problems = unexplained(results, snippets)
    if problems:
        raise SystemExit("\n".join(problems))
    if given.write:
        PAGE.write_text(page(results, snippets))


if __name__ == "__main__":
    main()
