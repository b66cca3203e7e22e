"""Runs as Trace Event JSON, which Perfetto shows."""
