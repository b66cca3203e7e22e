"""The steps of templates, which the kernel takes and `perwiz.formats.templates` makes; a test compares its struct with the dtype."""

import numpy as np

STEP = np.dtype([("code", "i4"), ("argument", "i4"), ("extent", "i4")], align=True)
TEXT, NUMBER, MICROSECONDS, SHORT_MICROSECONDS, NAME, LIST, IF, OPEN, CLOSE = range(9)
"""Values of `code`. TEXT: text `argument`; else what the cell in column `argument` says: the number, its ns as us with three decimals,
or with none if they are 0, the text of that row, the entries of a list from that one on, as many as the cell in column `extent` says;
IF leaves out the next `extent` steps where the cell is ABSENT. CLOSE takes back the text of the steps since OPEN if it is not longer
than `extent`."""
ABSENT = -(1 << 62)
"""Stands in a cell that has no value."""
