"""The result of training a language model to one token budget."""

from dataclasses import dataclass, field

from ordinate.results.run_result import HashedFile


@dataclass(frozen=True, slots=True)
class LanguageModelResult:
    """What `result.json` of a branch holds."""

    run: str  # the name of its folder
    step: int
    tokens: int
    seconds: float
    parameters: int
    valid_loss: float
    bits_per_byte: float
    files: dict[HashedFile, str] = field(default_factory=dict)
