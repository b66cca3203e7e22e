"""`python -m perwiz` is `perwiz`."""

from perwiz.cli import program

program()
