"""An archive read by several processes."""
