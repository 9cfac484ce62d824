"""Doing one run of a store: claim it, follow its recipe, and keep its result or its error."""

import logging
import time

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.store import Run, Store
from ordinate.store.claim import LostClaimError
from ordinate.training import environment
from ordinate.training.config import RunConfig
from ordinate.training.data import evaluation_sets
from ordinate.training.progress import ProgressCallback
from ordinate.training.task_recipe import TaskRecipe


def train(config: RunConfig, store: Store, watch: ProgressCallback | None = None) -> Run:
    """Do the run unless it is done; resume it if it was interrupted. If another process is doing it, wait for it."""
    run = store.run(config.id)
    if run.done:
        check_sets(config, run)
    else:
        store.check_writable()
    while not attempt(config, store, watch):
        time.sleep(0.2)
    return run


def attempt(config: RunConfig, store: Store, watch: ProgressCallback | None = None) -> bool:
    """Do the run unless another process is doing it; return whether it is done. An error is kept in its folder.

    A run that another process took over, because this one was silent for too long, is left to that process.
    """
    run = store.run(config.id)
    if run.done:
        return True
    with run.claimed() as mine:
        if not mine:
            return run.done
        try:
            with environment.prepared(config.threads, config.device):
                run.begin(to_dict(config), environment.describe())
                TaskRecipe(config, store, run, watch or (lambda progress: None)).run_to_end()
        except LostClaimError as lost:
            run.log(str(lost))
            logging.getLogger("ordinate").warning("ordinate: %s", lost)  # to stderr by default
            return run.done
        except Exception as error:
            run.fail(error)
            raise
    return True


def check_sets(config: RunConfig, run: Run) -> None:
    """Refuse a stored result whose task has changed since: the same name, but other problems."""
    now = {(s.split, s.length): s.hash for s in evaluation_sets(config, config.make_task())}
    if now != run.result.hashes:
        raise InputError(f"run {run.id} was scored on other problems than {config.task} gives now: use another store")
