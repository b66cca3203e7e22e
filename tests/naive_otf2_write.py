"""The slow twins of the kernel that writes OTF2 events."""

from __future__ import annotations

from perwiz.formats.otf2.library import events as row

WHERE = {
    **dict.fromkeys(("region", "metric", "parameter", "collective_op", "receiver", "sender", "program_name", "exit_status"), "reference"),
    **dict.fromkeys(("measurement_mode", "stop_time"), "reference"),
    **dict.fromkeys(("communicator",), "communicator"),
    **dict.fromkeys(("msg_tag", "root"), "tag"),
    **dict.fromkeys(("msg_length", "size_sent", "value", "string"), "amount"),
    **dict.fromkeys(("request_id",), "request"),
    **dict.fromkeys(("size_received",), "received"),
}
"""The column of each argument."""


def arguments(record):
    """Return name and arguments of the call that writes a row, behind (writer, attributes, time); None for kinds without function."""
    if record["kind"] >= len(row.COMPILED):
        return None
    name = list(row.COMPILED)[record["kind"]]
    if name == "Metric":
        return name, [record["reference"], 1, [record["tag"]], [record["amount"]]]
    if name == "ProgramBegin":
        return name, [record["reference"], 0, []]
    return name, [record[WHERE[argument]] for argument in row.EVENTS[name]]


def innermost(region, leaves, parent):
    """Return the innermost open region after each boundary, -1 none: of those open, the one entered last."""
    open_, out = [], []
    for one, left in zip(region, leaves, strict=True):
        if left:
            open_.remove(one)
        else:
            open_.append(one)
        out.append(open_[-1] if open_ else -1)
    return out


def place(gap, inner, wanted, region):
    """Return the boundary each item lies behind, -1 none."""
    out, least = [], -1
    for here, inside in zip(wanted, region, strict=True):
        least = max([least, *(k for k, one in enumerate(gap) if one < here)])
        behind = [k for k in range(least, len(gap)) if k < 0 or gap[k] <= here]
        least = next((k for k in behind if (inner[k] if k >= 0 else -1) == inside), least)
        out.append(least)
    return out
