"""Parts of a trace: the locations that take part, what the program does again and again, and the trace of these alone."""
