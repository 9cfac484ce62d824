"""The configuration of a run as stored in `config.json`, as far as readers of a store use it."""

from typing import TypedDict


class StoredModel(TypedDict):
    """The model's part of the configuration."""

    encoding: str | list[str]  # one for all layers, or one for each


class StoredConfig(TypedDict):
    """The keys that every configuration has. The rest is passed through."""

    task: str
    model: StoredModel
    seed: int
    lr: float
    steps: int
    train_lengths: list[int]


def encoding_name(config: StoredConfig) -> str:
    """The encoding of a run; several names if its layers differ."""
    encoding = config["model"]["encoding"]
    return encoding if isinstance(encoding, str) else ", ".join(encoding)
