"""What fits, and what is said of what does not."""

from pathlib import Path

import pytest

from ordinate import InputError, ModelConfig, Transformer
from ordinate.core import memory
from ordinate.core.errors import LONGEST_SENTENCE, LONGEST_WORD, brief


def test_the_error_states_the_need_and_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 8 * 10**9)
    memory.require_memory(8 * 10**9, "it")
    with pytest.raises(
        InputError, match=r"^it would take at least 25 GB of memory, but 8.0 GB are available: reduce it$"
    ):
        memory.require_memory(25 * 10**9, "it")


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("0::/box/inner", "box/inner/memory.max"),
        ("0::/box/inner", "box/memory.max"),
        ("0::/box", "memory.max"),
        ("4:memory:/box", "memory/box/memory.limit_in_bytes"),
        ("4:memory:/elsewhere", "memory/memory.limit_in_bytes"),
    ],
)
def test_the_limit_of_a_container_counts(line: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it stands: at the group of the process, above it, or at the root that a container is shown."""
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("12345678\n")
    (tmp_path / "groups").write_text(f"9:name=systemd:/\n{line}\n")
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    monkeypatch.setattr(memory, "MEMBER", tmp_path / "groups")
    assert memory.available() == 12345678
    (tmp_path / file).write_text("max\n")
    assert memory.available() > 12345678


def test_a_model_beyond_memory_is_refused_before_it_is_built() -> None:
    for sizes in (dict(dim=2**20), dict(dim=2**31 - 1, heads=1), dict(hidden=2**31 - 1), dict(vocabulary=2**31 - 1)):
        config = ModelConfig(**({"vocabulary": 7, "encoding": "none"} | sizes))
        with pytest.raises(InputError, match="GB of memory"):
            Transformer(config)
    with pytest.raises(InputError, match="layers must be at least 1 and at most 1024, got 9223372036854775807"):
        ModelConfig(vocabulary=7, encoding="none", layers=2**63 - 1)


@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_weights_of_a_configuration_are_those_of_its_matrices(activation: str, tied: bool) -> None:
    config = ModelConfig(
        vocabulary=11, encoding="none", dim=12, heads=4, kv_heads=2, layers=3, hidden=20, activation=activation,
        tied=tied,
    )  # fmt: skip
    assert config.weights == sum(weight.numel() for weight in Transformer(config).parameters() if weight.dim() == 2)


def test_a_sentence_stays_one_whatever_it_quotes() -> None:
    short = "dim must be a whole number, got 'x': choose another"
    assert brief(short) == short
    told = str(InputError(f"dim must be a whole number, got {'x' * 10**6}: choose another"))
    assert told.startswith("dim must be") and told.endswith("choose another") and len(told) < 2 * LONGEST_WORD
    assert len(brief("word " * 10**5)) <= LONGEST_SENTENCE
    assert (
        brief("step is\n  tensor(1.)\n, of 3; go on with  ordinate")
        == "step is tensor(1.) , of 3; go on with  ordinate"
    )
