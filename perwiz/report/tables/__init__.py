"""What `perwiz tables` tells."""
