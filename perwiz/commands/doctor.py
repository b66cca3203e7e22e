"""`perwiz doctor`: what of perwiz works on this machine, and what to do about the rest."""

from __future__ import annotations

import argparse

from perwiz import words
from perwiz.commands import files, options

HELP = "say what of perwiz works on this machine, and what to do about the rest"
PARTS = (
    *(
        "python",
        "kernels",
        "processors",
        "memory",
        "cache",
        "mpi",
        "recorder",
        "openmp",
        "counters",
        "otf2",
        "pictures",
        "page",
        "parquet",
        "tables",
    ),
    *("mpi4py", "jobs", "graph", "terminal"),
)
_ENDING = """
A line says of each part whether it works, and if not what helps. Nothing is installed or built, nothing is sent anywhere.

examples:
  perwiz doctor
  perwiz doctor mpi recorder     in a job: can it record here?
  perwiz doctor --json

exit codes: 0 what is asked for works, 2 no such part, 5 it does not. Without PART that is python, kernels, processors and memory;
the other parts may be missing
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz doctor`."""
    meaning = f"look at these parts alone, which must work: {', '.join(PARTS)}"
    parser.add_argument("parts", metavar="PART", nargs="*", type=_part, help=meaning)
    options.answer(parser)
    options.ending(parser, _ENDING)


def _part(text: str) -> str:
    """Return the name of a part. Raises argparse.ArgumentTypeError for another word; `choices` would refuse to have none."""
    if text in PARTS:
        return text
    raise argparse.ArgumentTypeError(f"'{text}', must be one of {', '.join(PARTS)}{words.meant(text, PARTS)}")


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing what was found."""
    import platform

    from perwiz import __version__
    from perwiz.errors import DONE, MISSED
    from perwiz.report.doctor import document as report
    from perwiz.report.doctor import machine, recording

    checks = machine.CHECKS | recording.CHECKS
    found = [finding for part in report.PARTS if not args.parts or part in args.parts for finding in checks[part]()]
    document = report.document(found, args.parts, __version__, platform.python_version(), machine.system())
    files.finish(args, document, report.text, incomplete=False)
    return DONE if document.works else MISSED
