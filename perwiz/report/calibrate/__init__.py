"""The report of `perwiz calibrate`."""
