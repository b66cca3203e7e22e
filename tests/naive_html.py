"""What the script of a page does with its data, in the most obvious way."""

from __future__ import annotations

import base64
import html.parser
import json
import zlib


def column(document):
    """Return the numbers of a column."""
    rows, raw = document["rows"], zlib.decompress(base64.b64decode(document["deflated"]))
    numbers = [sum(raw[plane * rows + row] << 8 * plane for plane in range(document["planes"])) for row in range(rows)]
    if document["signed"]:
        numbers = [-(number + 1) // 2 if number % 2 else number // 2 for number in numbers]
    if document["running"]:
        for row in range(1, rows):
            numbers[row] += numbers[row - 1]
    return numbers


def timelines(data):
    """Return, per timeline, {call: (enter, leave)} in units, the calls as rows of the columns."""
    out, steps = [], []
    for one in data["timelines"]:
        gap, length = column(one["gap"]), column(one["length"])
        if one["relative"]:
            base = next(steps[k] for k, other in enumerate(data["timelines"]) if other["run"] == one["run"] and not other["order"])
            gap, length = ([a + b for a, b in zip(*pair, strict=True)] for pair in zip((gap, length), base, strict=True))
        steps.append((gap, length))
        order = column(one["order"]) if one["order"] else range(len(gap))
        times, slot = {}, 0
        for begin, count in zip(one["enter"], data["runs"][one["run"]]["counts"], strict=True):
            now = begin
            for _ in range(count):
                enter = now + gap[slot]
                now = enter + length[slot]
                times[order[slot]] = enter, now
                slot += 1
        out.append(times)
    return out


def regions(data):
    """Return, per timeline, (enter, leave) in units of each instance of a region: so far behind the call before,
    or the first instant of its location; an end without calls inside behind the begin."""
    out, behind = [], []
    for one, times in zip(data["timelines"], timelines(data), strict=True):
        run, bands = data["runs"][one["run"]], data["runs"][one["run"]]["bands"]
        own = [column(one["bands"][name]) for name in ("enter", "leave")]
        before = next((k for k, other in enumerate(data["timelines"]) if other["run"] == one["run"]), 0)
        if before < len(behind):
            own = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(own, behind[before], strict=True)]
        behind.append(own)
        found = []
        for k, (place, begins, inside) in enumerate(zip(*(column(bands[name]) for name in ("location", "begins", "inside")), strict=True)):
            first = sum(run["counts"][:place])
            before = [times[calls - 1][1] if calls > first else one["enter"][place] for calls in (begins, begins + inside)]
            enter = before[0] + own[0][k]
            found.append((enter, (before[1] if inside else enter) + own[1][k]))
        out.append(found)
    return out


def waits(data):
    """Return, per timeline, {call: (partner, time in units)} of the calls that wait; None where nobody knows."""
    out = []
    for number, one in enumerate(data["timelines"]):
        if one["waits"] is None:
            out.append(None)
            continue
        first = next(k for k, other in enumerate(data["timelines"]) if other["run"] == one["run"])
        found = dict(out[first]) if first < number else {}
        for call, partner, time in zip(*(column(one["waits"][name]) for name in ("call", "partner", "time")), strict=True):
            found[call] = partner, time
        out.append({call: both for call, both in found.items() if both[1]})
    return out


class Parts(html.parser.HTMLParser):
    """The elements of a page: (tag, attributes, text of scripts and styles)."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])

    def handle_data(self, data):
        if self.found:
            self.found[-1][2] += data

    def handle_endtag(self, _):
        self.found.append(["", {}, ""])

    def data(self, id):
        """Return the data of an element."""
        return json.loads(next(text for _, attributes, text in self.found if attributes.get("id") == f"data-{id}"))
