"""CLOG-2, the binary log of MPE2: ALOG's heir, of the same events."""
