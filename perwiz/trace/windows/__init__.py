"""A trace that is gone through window by window of time, so that it needs not be held as a whole."""
