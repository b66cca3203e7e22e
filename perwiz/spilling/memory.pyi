def begin(folder: str, least: int) -> object:
    """Let numpy take arrays of at least so many bytes, made from now on in this thread, from files without a name in a folder.

    Return what it took memory from before. Raises OSError for a folder in which there can be none, for one whose files are memory, and for
    a numpy of another C interface.
    """

def end(before: object) -> object:
    """Let numpy take memory from what `begin` returned. Arrays that are in files stay there."""

def used() -> tuple[int, int]:
    """Return how many bytes of arrays are in files, and were at most since the last `begin`."""
