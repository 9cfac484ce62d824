"""Run by test_compile.py in a process of its own, without shape checks: tells what cannot be compiled or exported.

With names, it answers for all of them at once; without, for each name that comes in on a line of its own.
"""

import json
import sys

import torch
from tests.contract.cases import Case, tokens  # type: ignore[import-not-found]


def problems(name: str) -> list[str]:
    case, x = Case(name, settings={"layers": 1}), tokens()  # three take three times as long to trace
    expected = case.run(x)
    found = []
    try:
        torch._dynamo.reset()
        eager = torch.compile(case.run, fullgraph=True, backend="eager")(x)
        torch.testing.assert_close(eager, expected, atol=1e-5, rtol=1e-5)
    except Exception as error:
        found.append(f"compile: {error}"[:2000])
    try:
        more = case.inputs(case.positions(x.shape[1]))
        with torch.no_grad():
            program = torch.export.export(case.model, (x,), more)
        torch.testing.assert_close(program.module()(x, **more), expected, atol=1e-5, rtol=1e-5)
    except Exception as error:
        found.append(f"export: {error}"[:2000])
    return found


def main() -> None:
    torch.set_num_threads(1)
    torch._dynamo.config.recompile_limit = 1000
    if sys.argv[1:]:
        json.dump({name: problems(name) for name in sys.argv[1:]}, sys.stdout)
        return
    for line in sys.stdin:
        print(json.dumps(problems(line.strip())), flush=True)


main()
