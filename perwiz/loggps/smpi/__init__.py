"""SimGrid's SMPI as a machine: what it makes of a platform, and of collectives."""
