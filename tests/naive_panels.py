"""What the scripts of the panels do with their data, in the most obvious way."""

from __future__ import annotations

import numpy as np

import naive_html


def below(parents, row):
    """Return the rows of a tree that are below a row, itself included."""
    out = {row}
    for k, parent in enumerate(parents):
        if parent in out:
            out.add(k)
    return out


def cube(data):
    """Return (sums by metric and call path, values by metric, call path and place); of a metric without those below; -1 is the rest."""
    rows = {key: naive_html.column(value) for key, value in data["rows"].items()}
    cells = {key: naive_html.column(value) for key, value in data["cells"].items()}
    nodes, places = len(naive_html.column(data["tree"]["parent"])), len(data["system"]["row"])
    sums, values = np.zeros((len(data["metrics"]), nodes), "i8"), np.zeros((len(data["metrics"]), nodes + 1, places), "i8")
    row = cell = 0
    for metric, count in enumerate(rows["count"]):
        for _ in range(count):
            node = rows["node"][row] - 1
            if node >= 0:
                sums[metric, node] += rows["total"][row]
            for _ in range(rows["cells"][row]):
                values[metric, node, cells["place"][cell]] += cells["value"][cell]
                cell += 1
            row += 1
    return sums, values


def gains(data):
    """Return {(metric, call path): (gain, call)}; the call path behind the last is all of them."""
    columns = [naive_html.column(data["gains"][key]) for key in ("metric", "node", "gain", "call")]
    return {(metric, node): (gain, call) for metric, node, gain, call in zip(*columns, strict=True)}


def matrix(data):
    """Return {(row, column): (messages, bytes, late sender, late receiver, collective, call)}, by names."""
    keys, names = naive_html.column(data["key"]), data["names"]
    columns = [naive_html.column(value) for value in (*data["values"], data["call"])]
    return {(names[key // len(names)], names[key % len(names)]): row for key, *row in zip(keys, *columns, strict=True)}
