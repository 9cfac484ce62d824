"""The program, as `ordinate` or `python -m ordinate`."""

import os

# Read when numpy is loaded. What it multiplies here is small: more threads would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    from ordinate.cli import main as run

    run()


if __name__ == "__main__":
    main()
