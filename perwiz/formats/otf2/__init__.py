"""OTF2 archives: of Score-P, EZTrace and others, and with extras of perwiz all that answers depend on."""
