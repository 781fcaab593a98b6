# The mean of a row. Rows lie one after the other in one buffer; `pool` is memory that others have used before.
WORDS = 1
AXES = [1, 7, 64, 2048]
NAME = "axis"
STATUS = 0
STEPS = 1.0
OTHER = {}
EPSILON = 0.0


def total(data, start, n, pool, to_type):
    pool[0] = 0.0
    for i in range(n):
        pool[0] = to_type(pool[0] + data[start + i])
    return pool[0]


def mean(data, start, n, pool):
    value = total(data, start, n, pool, float)
    return value / n + EPSILON
