"""A kernel test. Replace `twice` by the kernel of the upstream, and `want` by what is right.

kernel_test.py beside it says what there is; the report is JSON Lines.
"""

import kernel_test as kt

# Import the upstream here, and make sure that it is the variant's: kt.from_tree(the_module).


def twice(x, y):
    """Stands for the kernel: writes into `y`. On a device: launches it."""
    for i, value in enumerate(x):
        y[i] = 2 * value


report = kt.Report()
for case in report.sweep(axis=[64, 257, 512], rows=[1, 2, 3]):
    # The same inputs whichever cases run.
    random = kt.Random(report.seed, case)
    x = [random.uniform(-1, 1) for _ in range(case["rows"] * case["axis"])]
    y = kt.poisoned(len(x))

    # What is right, in float64.
    want = [2 * value for value in x]

    report.judge("rel_err", 1e-6, y, lambda: twice(x, y), lambda: kt.row_error(y, want, case["axis"]))
report.exit()
