"""Another order of calls: what may move, and the program after it."""
