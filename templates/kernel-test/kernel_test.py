"""Tests of kernels in Python: cases, seeded inputs, poisoned outputs, a comparison in float64, chosen contents of
shared memory, times, and a report as JSON Lines. Python 3.9; NumPy, PyTorch and CuPy are used where they are there.

README.md beside it shows a whole test and says what the report looks like and which variables and options a test
listens to. kernel_test.h is the same for C++ and CUDA.

    import kernel_test as kt
    import your_library

    report = kt.Report()
    kt.from_tree(your_library)
    for case in report.sweep(axis=[64, 257, 512], rows=[1, 2]):
        random = kt.Random(report.seed, case)
        x = [random.uniform(-1, 1) for _ in range(case["rows"] * case["axis"])]
        y = kt.poisoned(len(x))
        want = [2 * v for v in x]
        report.judge("rel_err", 1e-6, y, lambda: your_library.twice(x, y),
                     lambda: kt.row_error(y, want, case["axis"]))
    report.exit()
"""

import itertools
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import time

try:
    import numpy
except ImportError:
    numpy = None

# What stands for an error that is not a number (an output that is NaN, or was never written): JSON has no NaN, and
# no `max` lets this pass.
NO_FIGURE = 1e30

# A function that writes a number into all shared memory of every multiprocessor. None: CuPy does it, where it is
# there and there is a device; else memory is left as it is.
fill_shared_hook = None


def stop(why):
    """Ends the test: it was called in a wrong way."""
    print(f"kernel test: {why}", file=sys.stderr)
    sys.exit(2)


def from_tree(*modules):
    """Makes sure that modules were imported from the tree of the variant, not from a copy that is installed."""
    tree = os.environ.get("OVERLAID_TREE")
    if not tree:
        return
    top = os.path.join(os.path.realpath(tree), "")
    for module in modules:
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
        if not file or not os.path.realpath(file).startswith(top):
            stop(f"{module.__name__} was imported from {file}, not from the tree {tree}")


# ---- Cases ----


def canonical(case):
    """One form for a case, however somebody wrote it down."""
    if isinstance(case, str):
        case = json.loads(case)

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(value[key]) for key in sorted(value)}
        if isinstance(value, list):
            return [plain(item) for item in value]
        is_whole = isinstance(value, float) and math.isfinite(value) and value == int(value)
        return int(value) if is_whole else value

    return json.dumps(plain(case), separators=(",", ":"))


class Random:
    """Numbers that depend on the seed and the case alone, not on which cases ran before."""

    def __init__(self, seed, case):
        self._state = seed & (2**64 - 1)
        for byte in canonical(case).encode():
            self._state = ((self._state ^ byte) * 0x100000001B3) & (2**64 - 1)

    def next(self):
        """Any number of 64 bits (splitmix64)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        return z ^ (z >> 31)

    def uniform(self, low, high):
        """A number from `low` up to `high`."""
        return low + (high - low) * (self.next() >> 11) * 2.0**-53


# ---- Outputs and errors ----


def _is_torch(array):
    return type(array).__module__.split(".")[0] == "torch"


def poisoned(shape, dtype=None, like=None):
    """An output in which every byte is 0xff: NaN in all floating types, -1 in integers. A list of floats where there
    is no NumPy; `like`: a PyTorch tensor, for another one of its device."""
    if like is not None:
        import torch

        output = torch.empty(shape, dtype=dtype or like.dtype, device=like.device)
        poison(output)
        return output
    if numpy is None:
        if not isinstance(shape, int) or dtype is not None:
            stop("without NumPy an output is a list: poisoned(size)")
        output = [0.0] * shape
    else:
        output = numpy.empty(shape, dtype=dtype or numpy.float64)
    poison(output)
    return output


def poison(output):
    """Poisons an output again."""
    if isinstance(output, list):
        output[:] = [_POISON] * len(output)
    elif _is_torch(output):
        import torch

        output.view(torch.uint8).fill_(0xFF)
    else:
        output.view(numpy.uint8).fill(0xFF)


_POISON = struct.unpack("<d", b"\xff" * 8)[0]


def unwritten(output):
    """How many elements nobody has written since the output was poisoned."""
    if isinstance(output, list):
        return sum(value is _POISON for value in output)
    count = output.numel() if _is_torch(output) else output.size
    if not count:
        return 0
    if _is_torch(output):
        import torch

        raw = output.contiguous().view(torch.uint8).reshape(count, -1)
        return int((raw == 0xFF).all(dim=1).sum())
    raw = numpy.ascontiguousarray(output).view(numpy.uint8).reshape(count, -1)
    return int((raw == 0xFF).all(axis=1).sum())


def _flat(values):
    """The elements as floats of 64 bits."""
    if _is_torch(values):
        return values.detach().double().cpu().reshape(-1).tolist()
    if numpy is not None and isinstance(values, numpy.ndarray):
        return values.astype(numpy.float64).reshape(-1).tolist()
    return [float(value) for value in values]


def relative_error(got, want):
    """How far a tensor is from what is wanted: the norm of the difference, relative to the norm of what is wanted
    (absolute if that is zero). NO_FIGURE if an element is not finite and another value is wanted."""
    return _relative_error(_flat(got), _flat(want))


def _relative_error(got, want):
    if len(got) != len(want):
        return NO_FIGURE
    difference = size = 0.0
    for g, w in zip(got, want):
        if g == w:
            size += w * w if math.isfinite(w) else 0.0
        elif not math.isfinite(g) or not math.isfinite(w):
            return NO_FIGURE
        else:
            difference += (g - w) ** 2
            size += w * w
    return math.sqrt(difference) / (math.sqrt(size) or 1.0)


def row_error(got, want, width):
    """The largest relative error of a row: a wrong row must not hide among many right ones."""
    got, want = _flat(got), _flat(want)
    if len(got) != len(want) or not got or len(got) % width:
        return NO_FIGURE
    rows = range(0, len(got), width)
    return max(_relative_error(got[row : row + width], want[row : row + width]) for row in rows)


# ---- The device ----


def _torch_on_device():
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def finish():
    """Waits for the device."""
    torch = _torch_on_device()
    if torch is not None:
        torch.cuda.synchronize()


def _end_if_sticky(error):
    """A CUDA error cannot be recovered from in this process, so it ends as a crash does: the case that was announced
    has failed, and a fresh process can run the rest."""
    text = f"{type(error).__name__}: {error}"
    if any(sign in text for sign in ("CUDA error", "cudaError", "CUDA_ERROR", "AcceleratorError")):
        print(f"kernel test: {text}", file=sys.stderr, flush=True)
        os.abort()


_fill_kernel = None


def _fill_shared(value):
    """Fills shared memory; says whether it could."""
    global _fill_kernel
    if fill_shared_hook is not None:
        fill_shared_hook(value)
        return True
    cupy = sys.modules.get("cupy")
    if cupy is None:
        try:
            import cupy
        except ImportError:
            return False
    try:
        attributes = cupy.cuda.Device().attributes
    except cupy.cuda.runtime.CUDARuntimeError:
        return False
    size = attributes["MaxSharedMemoryPerBlockOptin"]
    if _fill_kernel is None:
        _fill_kernel = cupy.RawKernel(
            'extern "C" __global__ void fill(float word, unsigned words) {'
            " extern __shared__ float shared_words[]; volatile float* to = shared_words;"
            " for (unsigned i = threadIdx.x; i < words; i += blockDim.x) to[i] = word; }",
            "fill",
        )
        _fill_kernel.max_dynamic_shared_size_bytes = size
    # One block fills one multiprocessor, and there are more blocks than multiprocessors.
    blocks = 4 * attributes["MultiProcessorCount"]
    _fill_kernel((blocks,), (1024,), (cupy.float32(value), cupy.uint32(size // 4)), shared_mem=size)
    cupy.cuda.Device().synchronize()
    return True


def times(launch, samples=20, warm=3, graph=False):
    """Milliseconds of several launches: by events on a device, by the clock without one. `graph`: each is a replay of
    the launch as a CUDA graph, so that what the host does is not measured."""
    torch = _torch_on_device()
    for _ in range(warm):
        launch()
    finish()
    run = launch
    if graph and torch is not None:
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            launch()
        run = captured.replay
        run()
        finish()
    taken = []
    for _ in range(samples):
        if torch is None:
            begun = time.perf_counter()
            run()
            taken.append(1e3 * (time.perf_counter() - begun))
            continue
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end))
    return taken


# ---- The report ----


class Report:
    """Announces cases, judges them, and writes what came of them."""

    def __init__(self, arguments=None):
        arguments = list(sys.argv[1:] if arguments is None else arguments)
        self._only, self._skip, self._options = None, set(), []
        self._fills, self._list, self._fresh = [0.0, 1.0, 10000.0], False, False
        self._case, self._failed, self._judged = None, 0, 0
        while arguments:
            option = arguments.pop(0)
            if option in ("--only", "--skip", "--fills"):
                if not arguments:
                    stop(f"{option} wants a value")
                value = arguments.pop(0)
                if option == "--only":
                    self._only = (self._only or set()) | {canonical(value)}
                elif option == "--skip":
                    self._skip.add(canonical(value))
                elif value == "none":
                    self._fills = []
                else:
                    self._fills = [float(fill) for fill in value.split(",")]
            elif option == "--list":
                self._list = True
            elif option == "--fresh":
                self._fresh = True
            else:
                self._options.append(option)
        only = os.environ.get("OVERLAID_ONLY")
        if only:
            self._only = (self._only or set()) | self._read_cases(only)
        skip = os.environ.get("OVERLAID_SKIP")
        if skip:
            self._skip |= self._read_cases(skip)
        self.seed = int(os.environ.get("OVERLAID_SEED") or "1", 0)
        results = os.environ.get("OVERLAID_RESULTS")
        self._out = open(results, "a") if results and not self._list else sys.stdout

    @staticmethod
    def _read_cases(file):
        with open(file) as lines:
            return {canonical(line) for line in lines if "{" in line}

    def flag(self, option):
        """Whether an option of the test's own was given, such as --full."""
        return option in self._options

    def begin(self, case):
        """Announces a case; False if it is not to be run."""
        key = canonical(case)
        if (self._only is not None and key not in self._only) or key in self._skip:
            return False
        self._case = case
        if self._list:
            print(json.dumps(case))
            return False
        if self._fresh:
            self._run_fresh(case)
            return False
        self._line(status="start")
        return True

    def _run_fresh(self, case):
        """Runs a case in a process of its own, in which no other one has left anything."""
        own = [argument for argument in sys.argv if argument != "--fresh"]
        ended = subprocess.run([sys.executable, *own, "--only", json.dumps(case)], check=False)
        self._judged += ended.returncode != 77
        self._failed += ended.returncode not in (0, 77)

    def sweep(self, **axes):
        """All cases of some axes, each announced before it is given."""
        for values in itertools.product(*axes.values()):
            case = dict(zip(axes, values))
            if self.begin(case):
                yield case

    def figure(self, metric, value, max, why=""):
        """Reports a figure that passes up to `max`. What is not a number does not pass."""
        value = value if value <= NO_FIGURE else NO_FIGURE  # NaN too
        self._judged += 1
        self._failed += not value <= max
        self._line(metric=metric, value=value, max=max, **({"why": why} if why else {}))

    def speed(self, metric, samples):
        """Reports the median of some times, and how far they are spread: the middle half of them."""
        quarters = statistics.quantiles(samples, n=4) if len(samples) > 1 else [samples[0]] * 3
        self._judged += 1
        spread = quarters[2] - quarters[0]
        self._line(metric=metric, value=statistics.median(samples), better="lower", spread=spread)

    def skip(self, why):
        """Reports that a case cannot be run here."""
        self._line(status="skip", why=why)

    def error(self, why):
        """Reports that a case was refused."""
        self._judged += 1
        self._failed += 1
        self._line(status="error", why=why)

    def judge(self, metric, max, output, launch, error):
        """Runs `launch()` once for each of the fills of shared memory, into a poisoned `output`, and reports the
        largest `error()`. An exception is a refusal. A result that depends on the fill has failed, whatever its error
        is."""
        first, worst, best, depends, left = None, None, None, False, 0
        for fill in self._fills or [0.0]:
            poison(output)
            try:
                could_fill = bool(self._fills) and _fill_shared(fill)
                launch()
                finish()
            except Exception as refusal:
                _end_if_sticky(refusal)
                return self.error(f"{type(refusal).__name__}: {refusal}")
            left = left or unwritten(output)
            value = error()
            value = value if value <= NO_FIGURE else NO_FIGURE
            got = struct.pack(f"<{len(_flat(output))}d", *_flat(output))
            first = got if first is None else first
            depends = depends or got != first
            worst = (value, fill) if worst is None or value > worst[0] else worst
            best = (value, fill) if best is None or value < best[0] else best
            if not could_fill:
                break
        if depends:
            why = (
                f"depends on what shared memory held before: {worst[0]:.3g} with {worst[1]:g} in every word, "
                f"{best[0]:.3g} with {best[1]:g}"
            )
            return self.figure(metric, worst[0] if worst[0] > max else NO_FIGURE, max, why)
        why = "not finite" if worst[0] >= NO_FIGURE else ""
        if why and left:
            why = f"{left} of {len(_flat(output))} elements were never written"
        return self.figure(metric, worst[0], max, why)

    def exit(self):
        """Ends the test: 0 if every case passed, 1 if one did not, 77 if none ran."""
        if self._out is not sys.stdout:
            self._out.close()
        sys.exit(0 if self._list else 1 if self._failed else 0 if self._judged else 77)

    def _line(self, **members):
        # Flushed line by line: what was said before a crash must not be lost.
        print(json.dumps({"case": self._case, **members}), file=self._out, flush=True)
