"""Files of a dataset on the Hugging Face Hub: a revision that is looked up once, and downloads that are checked."""

import errno
import time
from collections.abc import Callable
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Any, TypeVar

from ordinate.core.errors import InputError
from ordinate.core.extras import optional
from ordinate.store.pack import fault
from ordinate.text.sources.source import File

T = TypeVar("T")

WAITS = (1.0, 4.0, 15.0)  # seconds before each further attempt
TIMEOUT = 10.0  # seconds without an answer
_INSTEAD = "or prepare from a copy: ordinate lm prepare parquet:DIR"


def resolve(dataset: str, revision: str) -> str:
    """The commit that a branch, a tag or a commit is at this moment."""
    hub = optional("huggingface_hub")
    look_up = partial(hub.HfApi().dataset_info, dataset, revision=revision, timeout=TIMEOUT)
    return str(_request(f"{dataset} at {revision}", look_up).sha)


def list_files(dataset: str, commit: str, folder: str, ending: str) -> list[File]:
    """The files below a folder of a dataset whose names end like this, in the order of their names."""
    hub = optional("huggingface_hub.hf_api")
    what = f"{folder} of {dataset}"

    def tree() -> list[Any]:
        return list(hub.HfApi().list_repo_tree(dataset, folder, recursive=True, revision=commit, repo_type="dataset"))

    files = [
        File(item.path, item.size, item.lfs.sha256 if item.lfs else "")
        for item in _request(what, tree)
        if isinstance(item, hub.RepoFile) and item.path.endswith(ending)
    ]
    for file in files:
        if problem := fault(file.name):
            raise InputError(f"{what} is refused: its file {file.name!r} {problem}")
    if not files:
        raise InputError(f"there are no files *{ending} in {what}: choose another revision")
    return sorted(files)


def fetch(dataset: str, commit: str, file: File, downloads: Path) -> Path:
    """The file, downloaded unless it is there: of the right size and, where the Hub provides it, the right hash."""
    hub = optional("huggingface_hub")
    hub.utils.disable_progress_bars()

    def download() -> Path:
        path = Path(hub.hf_hub_download(dataset, file.name, repo_type="dataset", revision=commit, local_dir=downloads))
        if problem := _differs(path, file):
            path.unlink()
            raise ConnectionError(problem)
        return path

    return _request(f"{file.name} of {dataset}", download, silence=True)


def forget(file: File, downloads: Path) -> None:
    """Make room: the file is not needed any more."""
    (downloads / file.name).unlink(missing_ok=True)


def _differs(path: Path, file: File) -> str:
    if (size := path.stat().st_size) != file.size:
        return f"{size:,} bytes came, not {file.size:,}"
    with open(path, "rb") as opened:
        right = not file.sha256 or file_digest(opened, "sha256").hexdigest() == file.sha256
    return "" if right else "another hash than the Hub says"


def _request(what: str, call: Callable[[], T], silence: bool = False) -> T:
    """Call the Hub, again after errors, and with `silence` also after no answer (a file may be half downloaded)."""
    errors = optional("huggingface_hub.errors")
    missing = (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.EntryNotFoundError)
    for wait in (*WAITS, None):
        try:
            return call()
        except missing as error:
            if isinstance(error, errors.LocalEntryNotFoundError):  # raised by a download without an answer
                problem = error
            else:
                raise InputError(f"the Hub has no {what}: check the name and the revision, {_INSTEAD}") from error
        except Exception as error:  # whatever a network, a proxy or a server does
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
                raise
            problem = error
        answered = isinstance(problem, errors.HfHubHTTPError)
        if wait is None or not (answered or silence):
            break
        time.sleep(wait)
    reason = f"{type(problem).__name__}: {str(problem).partition(chr(10))[0]}"
    if answered or silence:
        failure = f"the Hub did not deliver {what} ({reason}): start again later to resume"
    else:
        failure = f"the Hugging Face Hub cannot be reached ({reason}): check the network, set HF_ENDPOINT to a mirror"
    raise InputError(f"{failure}, {_INSTEAD}") from problem
