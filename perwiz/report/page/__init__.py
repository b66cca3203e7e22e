"""The page of `perwiz report`."""
