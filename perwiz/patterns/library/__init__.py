"""The patterns."""
