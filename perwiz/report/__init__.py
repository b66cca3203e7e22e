"""Finished data in, a report out: text, tables and pictures. Nothing here opens a trace or computes a prediction."""
