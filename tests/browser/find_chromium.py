"""Finds a Chromium for the browser tests, or installs one: `python tests/browser/find_chromium.py`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
COMMANDS = "sudo apt-get install chromium, or python -m playwright install chromium"


def find() -> str | None:
    """The program's path: the one named in ORDINATE_CHROMIUM, one on the search path, or Playwright's own."""
    named = os.environ.get("ORDINATE_CHROMIUM")
    if named:
        return shutil.which(named)
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or _own()


def _own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Debian's package where that is possible, Playwright's download elsewhere."""
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        apt = "apt-get update && apt-get install --yes --no-install-recommends chromium"
        commands.insert(0, ["sh", "-c", apt])
    for command in commands:
        print(f"installing Chromium for the browser tests: {' '.join(command)}", flush=True)
        if subprocess.run(command, check=False).returncode == 0:
            return


def main() -> None:
    """Tells what was found. Never fails: the tests do, with the command to run."""
    if find() is None:
        install()
    print(f"Chromium for the browser tests: {find() or f'not found; {COMMANDS}'}")


if __name__ == "__main__":
    main()
