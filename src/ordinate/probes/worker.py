"""Probes runs in a process of its own: `python -m ordinate.probes.worker STORE RUN [RUN ...]`.

Each record is stored beside its run as soon as it is made; a run that cannot be probed is said on stderr.
"""

import sys

import torch

from ordinate.core.errors import InputError
from ordinate.probes.records import whole_probe
from ordinate.store import open_store


def main(store: str, *ids: str) -> int:
    """How many runs could not be probed."""
    torch.set_num_threads(1)
    failed = 0
    for run_id in ids:
        try:
            whole_probe(open_store(store).run(run_id))
        except InputError as error:
            print(f"{run_id}: {error}", file=sys.stderr, flush=True)
            failed += 1
    return failed


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
