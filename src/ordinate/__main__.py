"""`python -m ordinate`."""

from ordinate.cli import main

main()
