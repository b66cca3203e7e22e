"""The slow, obvious twins of the kernels in perwiz/kernels/alog_format.py."""

from __future__ import annotations


def lines(cells, pool, texts, keys, absent):
    """Return the text of all rows; `texts` and `keys` are lists of strings, a key per column."""
    return "".join(f"{line(row, pool, texts, keys, absent)}\n" for row in cells)


def line(row, pool, texts, keys, absent):
    kind, process, task, data, ns, tag, size, first, count, mode, text = row[:11]
    words = [kind, process, task, data, 0, f"{ns // 1000}.{ns % 1000:03d}" if ns % 1000 else ns // 1000]
    if tag != absent:
        words += [tag, size]
    extra = [f"{keys[11 + k]}={value}" for k, value in enumerate(row[11:]) if value != absent]
    if mode:
        extra.append(f"{keys[9]}={chr(mode)}")
    if count:
        extra.append(f"{keys[7]}={','.join(str(value) for value in pool[first : first + count])}")
    if text >= 0:
        extra.append(f"{keys[10]}={texts[text]}")
    return " ".join(str(word) for word in [*words, *(["@", *extra] if extra else [])])
