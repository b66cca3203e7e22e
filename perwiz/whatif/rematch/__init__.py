"""Runs in which receives take what comes first, and tasks go to whoever asks next."""
