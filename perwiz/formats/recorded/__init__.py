"""Runs that `perwiz record` wrote."""
