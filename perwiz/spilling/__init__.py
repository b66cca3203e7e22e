"""Arrays in files, where memory does not hold a run: the system then writes and reads what there is no room for."""
