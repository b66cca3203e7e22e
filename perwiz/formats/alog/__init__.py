"""ALOG, whoever wrote it, and with perwiz-ext 1 without loss."""
