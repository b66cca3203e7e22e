"""The correction spread over processes."""
