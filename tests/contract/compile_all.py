"""Run by test_compile.py in a process of its own, without shape checks: prints what cannot be compiled or exported."""

import json
import sys

import torch
from tests.contract.cases import NAMES, Case, tokens  # type: ignore[import-not-found]


def main() -> None:
    torch.set_num_threads(1)
    torch._dynamo.config.recompile_limit = 1000
    found = {}
    for name in sys.argv[1:] or NAMES:
        case, x = Case(name), tokens()
        expected = case.run(x)
        problems = []
        try:
            torch._dynamo.reset()
            eager = torch.compile(case.run, fullgraph=True, backend="eager")(x)
            torch.testing.assert_close(eager, expected, atol=1e-5, rtol=1e-5)
        except Exception as error:
            problems.append(f"compile: {error}"[:2000])
        try:
            more = {"segments": (torch.arange(x.shape[1])[None] % 2)}
            if case.axes > 1:
                more["positions"] = case.positions(x.shape[1])
            with torch.no_grad():
                program = torch.export.export(case.model, (x,), more)
            torch.testing.assert_close(program.module()(x, **more), expected, atol=1e-5, rtol=1e-5)
        except Exception as error:
            problems.append(f"export: {error}"[:2000])
        found[name] = problems
    json.dump(found, sys.stdout)


main()
