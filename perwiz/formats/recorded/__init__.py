"""Runs that `perwiz record` wrote."""

MARKER = "run.json"
"""The file that makes a directory one of a recorded run."""
