"""`python -m perwiz` is `perwiz`."""

import sys

from perwiz.cli import main

sys.exit(main())
