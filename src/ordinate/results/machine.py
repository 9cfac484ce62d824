"""The machine of a run, as stored in `env.json`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """Versions and hardware."""

    ordinate: str
    python: str
    torch: str
    numpy: str
    platform: str
    processor: str
    cores: int | None
    threads: int
    git: str | None  # the commit of a checkout
