"""The manifest of a prepared corpus: its recipe, its source, and every shard with its hash."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from ordinate.core.errors import InputError
from ordinate.store.files import read_bytes, read_json, write_json
from ordinate.text.shard import Header, from_plain
from ordinate.text.sources.source import File

C = TypeVar("C")
Split = Literal["train", "valid"]
Count = Literal["tokens", "documents", "bytes", "replaced"]
SPLITS: tuple[Split, ...] = get_args(Split)

SCHEMA = 1
MANIFEST = "manifest.json"
RECIPE = "recipe.json"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class CorpusRecipe:
    """The settings of a corpus. Paths are left out: the same text gives the same corpus from any folder."""

    source: str  # its kind, and for one that is fetched which part of it
    revision: str  # of a source that has several; empty for files at hand
    max_shards: int  # 0: all
    vocabulary: int
    tokenizer: str  # sha256 of the one that was given; empty: learned from the text
    tokenizer_bytes: int  # of text that one is learned from, at most
    valid: float  # share of the documents
    seed: int  # of the order of documents within a shard

    def differences(self, other: "CorpusRecipe") -> list[str]:
        """Where another recipe is not this one."""
        mine, theirs = asdict(self), asdict(other)
        return [f"{name} {mine[name]!r}, not {theirs[name]!r}" for name in mine if mine[name] != theirs[name]]


@dataclass(frozen=True)
class Survey:
    """The state of the source when preparation began."""

    origin: dict[str, str]  # the commit of a dataset, the version of Python
    files: list[File]
    valid_below: int  # documents whose hash is below this are for validation


@dataclass(frozen=True)
class Manifest:
    """Everything about a corpus but its tokens. The same recipe and the same files give the same manifest."""

    recipe: CorpusRecipe
    survey: Survey
    tokenizer: str  # sha256 of tokenizer.json
    shards: dict[Split, list[Header]]

    def total(self, split: Split, what: Count) -> int:
        return sum(int(getattr(header, what)) for header in self.shards[split])

    def write(self, folder: Path) -> None:
        write_json(folder / MANIFEST, {"schema": SCHEMA, **asdict(self)})


def shard_name(split: Split, number: int) -> str:
    return f"{split}-{number:05d}.bin"


def write_recipe(folder: Path, recipe: CorpusRecipe, survey: Survey) -> None:
    write_json(folder / RECIPE, {"schema": SCHEMA, "recipe": asdict(recipe), "survey": asdict(survey)})


def read_recipe(folder: Path) -> tuple[CorpusRecipe, Survey] | None:
    """The recipe and survey of a folder, if preparation has begun."""
    path = folder / RECIPE
    return _parsed(path, _recipe_and_survey) if path.exists() else None


def read_manifest(folder: Path) -> tuple[Manifest, str]:
    """The manifest of a prepared folder, and its fingerprint."""
    path = folder / MANIFEST
    if path.is_file():
        return _parsed(path, _manifest), sha256(read_bytes(path)).hexdigest()
    if (folder / RECIPE).exists():
        raise InputError(f"the corpus in {folder} is not finished: the command that began it goes on")
    raise InputError(f"{folder} holds no prepared corpus: make one with  ordinate lm prepare")


def _parsed(path: Path, parse: Callable[[dict[str, Any]], C]) -> C:
    content = read_json(path)
    schema = content.get("schema") if isinstance(content, dict) else None
    if type(schema) is int and schema > SCHEMA:
        raise InputError(f"{path} was written by a newer ordinate (schema {schema}, this one reads {SCHEMA}): update")
    try:
        return parse(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged: remove the folder and prepare it again, in another folder") from error


def _manifest(content: dict[str, Any]) -> Manifest:
    shards = {split: [from_plain(Header, header) for header in content["shards"][split]] for split in SPLITS}
    manifest = Manifest(*_recipe_and_survey(content), str(content["tokenizer"]), shards)
    made_with = {(header.vocabulary, header.tokenizer) for split in SPLITS for header in shards[split]}
    if len(shards["train"]) != len(shards["valid"]) or made_with != {(manifest.recipe.vocabulary, manifest.tokenizer)}:
        raise ValueError("shards that do not belong together")
    return manifest


def _recipe_and_survey(content: dict[str, Any]) -> tuple[CorpusRecipe, Survey]:
    survey = content["survey"]
    files = [File(str(name), int(size), str(digest)) for name, size, digest in survey["files"]]
    origin = {str(key): str(value) for key, value in survey["origin"].items()}
    return from_plain(CorpusRecipe, content["recipe"]), Survey(origin, files, int(survey["valid_below"]))
