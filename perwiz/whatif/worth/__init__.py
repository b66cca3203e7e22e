"""What each fix is worth."""
