"""What findings come from, and what they are worth."""
