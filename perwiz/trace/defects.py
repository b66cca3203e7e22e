"""The reasons why a record could not be used, as `Defects.reason` numbers them."""

REASONS = (
    "not six integers",
    "number out of range",
    "message without tag and size",
    "end of a state that is not open",
    "state that never ends",
    "time runs backwards on its process",
    "event of an unknown process",
    "header record that cannot be used",
    "cut off in the middle of a line",
    "extension attribute that cannot be used",
    "more than 1000 states open at once on its process",
)
(
    NOT_INTEGERS,
    OUT_OF_RANGE,
    NO_TAG_AND_SIZE,
    NOT_OPEN,
    NEVER_ENDS,
    BACKWARDS,
    UNKNOWN_PROCESS,
    BAD_HEADER,
    CUT_OFF,
    BAD_ATTRIBUTE,
    TOO_DEEP,
) = range(len(REASONS))
