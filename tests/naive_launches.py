"""The slow twin of perwiz.kernels.launches."""


def oldest(launches, activities):
    """Return per activity (kind, begin) the launch (kind, entered, over) of its kind that it takes, or -1."""
    out, taken = [], set()
    for kind, begin in activities:
        left = [row for row, (its, _, over) in enumerate(launches) if its == kind and over >= begin and row not in taken]
        out.append(left[0] if left and launches[left[0]][1] <= begin else -1)
        taken.add(out[-1])
    return out
