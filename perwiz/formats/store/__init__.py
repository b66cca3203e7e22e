"""The store of perwiz: a directory of mapped columns, whatever they are columns of."""

MARKER = "store.json"
"""The file that says what is in a directory, and by which one is told."""
