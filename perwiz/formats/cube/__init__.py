"""Cube 4 files: read, written, and the algebra of cubes."""
