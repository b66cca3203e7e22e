"""The subcommands, one module each: HELP, one line; `arguments(parser)`; `run(args)`, which returns the exit code.

At module level a command imports nothing heavy, so that every `--help` is instant; `run` imports what it needs.
"""

COMMANDS = (
    "info",
    "predict",
    "domino",
    "critical",
    "curve",
    "compare",
    "series",
    "bound",
    "balance",
    "patterns",
    "phases",
    "report",
    "cube",
    "correct",
    "convert",
    "record",
    "calibrate",
    "jobs",
    "tables",
    "explain",
    "doctor",
    "completion",
)
"""In the order of the help."""
RUNNING = ("record", "calibrate")
"""Those that run programs of the user."""
TOGETHER = ("predict", "domino", "patterns", "correct", "info")
"""Those that several processes do together, started by mpiexec or srun."""
