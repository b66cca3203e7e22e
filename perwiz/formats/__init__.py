"""Files in, files out: one folder per format, and what all of them share."""
