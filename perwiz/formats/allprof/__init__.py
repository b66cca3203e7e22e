"""Traces of liballprof: a text file per process, one line a call."""
