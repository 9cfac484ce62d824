"""One encoding on one task of a study: its learning rates, which seed has which, and its budget."""

from dataclasses import dataclass

from ordinate.results.comparison import Sweep
from ordinate.training import RunConfig


@dataclass(frozen=True)
class Arm:
    """One encoding on one task, with the learning rates of its reported runs."""

    task: str
    encoding: str
    base: RunConfig
    sweep: Sweep | None  # None: the rate is fixed
    pilot_steps: int = 0  # the largest budget of its pilots
    steps: int = 0  # the largest budget of its reported runs; 0: that of the configuration
    fastest: tuple[str, int] | None = None  # the encoding, and its steps, of which that is a multiple

    @property
    def rates(self) -> tuple[float, ...]:
        """Those that tie on the pilot seed: what tuning cannot tell apart must not decide beyond it."""
        return self.sweep.used if self.sweep else (self.base.lr,)

    def rate(self, seed: int) -> float:
        """Tied rates are dealt out over the reported seeds, so that intervals and tests include the choice."""
        return self.rates[(seed - 1) % len(self.rates)]
