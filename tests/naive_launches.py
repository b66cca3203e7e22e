"""The slow twin of perwiz.kernels.launches."""


def oldest(entered, over, begun):
    """Return per activity the launch that it takes, or -1."""
    left, out = list(range(len(entered))), []
    for begin in begun:
        left = [launch for launch in left if over[launch] >= begin]
        out.append(left.pop(0) if left and entered[left[0]] <= begin else -1)
    return out
