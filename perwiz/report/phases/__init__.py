"""What `perwiz phases` prints."""
