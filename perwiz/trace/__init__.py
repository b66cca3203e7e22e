"""What happened: tables of calls, messages, collectives and user regions, and the files they come from."""
