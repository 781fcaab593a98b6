# How the kernel is called.
SCALE = 1.0


def launch(data, start, n, pool):
    return SCALE * mean(data, start, n, pool)
