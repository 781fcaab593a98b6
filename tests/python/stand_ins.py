"""What kernel_test.py asks of PyTorch and of CuPy, on a machine without a device: both are stood in for by the little that is
asked, and take down what they were told.

    python3 stand_ins.py FOLDER_OF_KERNEL_TEST
"""

import importlib
import os
import signal
import struct
import subprocess
import sys
import types

SIZES = {"uint8": 1, "float32": 4, "float64": 8}
CODES = {"uint8": "B", "float32": "f", "float64": "d"}
log = []


class Tensor:
    """Some bytes and what they are taken for."""

    def __init__(self, raw, dtype, device="cuda"):
        self.raw, self.dtype, self.device = raw, dtype, device

    def values(self):
        return struct.unpack(f"{self.numel()}{CODES[self.dtype]}", self.raw)

    def numel(self):
        return len(self.raw) // SIZES[self.dtype]

    def view(self, dtype):
        return Tensor(self.raw, dtype, self.device)

    def fill_(self, value):
        assert self.dtype == "uint8"
        self.raw[:] = bytes([value]) * len(self.raw)
        return self

    def contiguous(self):
        log.append("contiguous")
        return self

    def reshape(self, *shape):
        if len(shape) == 1:
            return self
        width = len(self.raw) // shape[0]
        return Rows([self.raw[at : at + width] for at in range(0, len(self.raw), width)])

    def detach(self):
        return self

    def double(self):
        return Tensor(bytearray(struct.pack(f"{self.numel()}d", *self.values())), "float64", self.device)

    def cpu(self):
        return Tensor(self.raw, self.dtype, "cpu")

    def tolist(self):
        assert self.device == "cpu", "a tensor on a device has no list"
        return list(self.values())


class Rows(list):
    """Rows of bytes, or of truths."""

    def __eq__(self, other):
        return Rows([[byte == other for byte in row] for row in self])

    def all(self, dim):
        assert dim == 1
        return Rows([all(row) for row in self])

    def sum(self):
        return sum(self)


class Event:
    """Ends a millisecond after it began, by a clock that goes on with each record."""

    now = 0

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        Event.now += 1
        self.at = Event.now

    def synchronize(self):
        log.append("event")

    def elapsed_time(self, end):
        return float(end.at - self.at)


class Graph:
    def replay(self):
        log.append("replay")


class graph:
    def __init__(self, captured):
        assert isinstance(captured, Graph)

    def __enter__(self):
        log.append("capture")

    def __exit__(self, *_):
        log.append("captured")


def torch(has_device=True):
    module = types.ModuleType("torch")
    module.uint8 = "uint8"
    module.empty = lambda shape, dtype, device: Tensor(bytearray(shape * SIZES[dtype]), dtype, device)
    module.cuda = types.SimpleNamespace(
        is_available=lambda: has_device,
        synchronize=lambda: log.append("synchronize"),
        CUDAGraph=Graph,
        graph=graph,
        Event=Event,
    )
    Tensor.__module__ = "torch"
    return module


class NoDevice(Exception):
    pass


class RawKernel:
    def __init__(self, source, name):
        assert "extern __shared__" in source and f"void {name}(" in source
        self.max_dynamic_shared_size_bytes = None

    def __call__(self, grid, block, arguments, shared_mem):
        assert self.max_dynamic_shared_size_bytes == shared_mem
        log.append(("fill", grid, block, arguments, shared_mem))


def cupy(has_device=True):
    class Device:
        @property
        def attributes(self):
            if not has_device:
                raise NoDevice
            return {"MaxSharedMemoryPerBlockOptin": 232448, "MultiProcessorCount": 132}

        def synchronize(self):
            log.append("filled")

    module = types.ModuleType("cupy")
    module.cuda = types.SimpleNamespace(Device=Device, runtime=types.SimpleNamespace(CUDARuntimeError=NoDevice))
    module.RawKernel, module.float32, module.uint32 = RawKernel, float, int
    return module


def fresh(**modules):
    """kernel_test as it is imported where there are these modules."""
    for name in ("torch", "cupy", "kernel_test"):
        sys.modules.pop(name, None)
    sys.modules.update(modules)
    log.clear()
    return importlib.import_module("kernel_test")


def outputs_are_poisoned_and_what_was_not_written_is_counted():
    kt = fresh(torch=torch(), cupy=cupy())
    like = Tensor(bytearray(4), "float32", "cuda:1")
    output = kt.poisoned(6, like=like)
    assert (output.dtype, output.device, output.numel()) == ("float32", "cuda:1", 6)
    assert set(output.raw) == {0xFF} and kt.unwritten(output) == 6
    struct.pack_into("2f", output.raw, 4, 1.5, 2.5)
    assert kt.unwritten(output) == 4 and "contiguous" in log
    assert kt.relative_error(output, [0] * 6) == kt.NO_FIGURE
    kt.poison(output)
    assert kt.unwritten(output) == 6
    assert kt.poisoned(2, like=like, dtype="float64").dtype == "float64"


def errors_are_taken_in_float64_from_the_host():
    kt = fresh(torch=torch())
    got = Tensor(bytearray(struct.pack("4f", 1, 2, 3, 5)), "float32")
    assert kt.relative_error(got, [1, 2, 3, 5]) == 0
    assert abs(kt.row_error(got, [1, 2, 3, 4], 2) - 0.2) < 1e-12


def all_shared_memory_is_filled_by_a_block_for_each_multiprocessor():
    kt = fresh(torch=torch(), cupy=cupy())
    assert kt._fill_shared(100.0)
    assert log == [("fill", (528,), (1024,), (100.0, 58112), 232448), "filled"], log
    kt._fill_shared(1.0)
    assert len(log) == 4
    assert not fresh(cupy=cupy(has_device=False))._fill_shared(1.0)
    kt = fresh(cupy=cupy(has_device=False))
    kt.fill_shared_hook = lambda value: log.append(value)
    assert kt._fill_shared(7.0) and log == [7.0]


def a_case_is_judged_with_each_fill_and_the_device_is_waited_for():
    os.environ["OVERLAID_RESULTS"] = os.devnull
    kt = fresh(torch=torch(), cupy=cupy())
    report = kt.Report([])
    lines = []
    report._line = lambda **members: lines.append(members)
    output = kt.poisoned(2, like=Tensor(bytearray(8), "float32"))
    word = [0.0]

    def launch():
        word[0] = next(entry[3][0] for entry in reversed(log) if entry[0] == "fill")
        struct.pack_into("2f", output.raw, 0, 1, 2 + (word[0] > 5))

    report._case = {"n": 1}
    report.judge("rel_err", 1e-3, output, launch, lambda: kt.relative_error(output, [1, 2]))
    assert "depends on what shared memory held before" in lines[0]["why"], lines
    assert lines[0]["value"] > 1e-3 and log.count("synchronize") == 3
    assert [entry[3][0] for entry in log if entry[0] == "fill"] == [0.0, 1.0, 10000.0]


def times_come_from_events_and_from_replays_of_a_graph():
    kt = fresh(torch=torch())
    launches = []
    assert kt.times(lambda: launches.append(1), samples=4, warm=2) == [1.0] * 4
    assert len(launches) == 6 and log.count("event") == 4
    kt = fresh(torch=torch())
    launches.clear()
    assert kt.times(lambda: launches.append(1), samples=4, warm=2, graph=True) == [1.0] * 4
    assert len(launches) == 3 and log.count("replay") == 5 and log.count("capture") == 1, log
    kt = fresh(torch=torch(has_device=False))
    assert len(kt.times(lambda: None, samples=4, graph=True)) == 4 and log == []


def an_error_that_a_process_does_not_recover_from_ends_it():
    for text, ends in [("CUDA error: an illegal memory access was encountered", True), ("out of range", False)]:
        code = (
            "import stand_ins as s\nkt = s.fresh(torch=s.torch())\nreport = kt.Report([])\n"
            f"def launch(): raise RuntimeError({text!r})\n"
            "report.begin({'n': 1})\nreport.judge('e', 1, kt.poisoned(1), launch, lambda: 0.0)\n"
        )
        ended = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True,
                               env={**os.environ, "OVERLAID_RESULTS": "",
                                    "PYTHONPATH": os.pathsep.join([sys.path[0], os.path.dirname(__file__)])})
        assert ended.returncode == (-signal.SIGABRT if ends else 0), ended
        assert '"status": "start"' in ended.stdout, ended
        assert ('"status": "error"' in ended.stdout) == (not ends), ended


if __name__ == "__main__":
    sys.path.insert(0, os.path.abspath(sys.argv[1]))
    for test in (
        outputs_are_poisoned_and_what_was_not_written_is_counted,
        errors_are_taken_in_float64_from_the_host,
        all_shared_memory_is_filled_by_a_block_for_each_multiprocessor,
        a_case_is_judged_with_each_fill_and_the_device_is_waited_for,
        times_come_from_events_and_from_replays_of_a_graph,
        an_error_that_a_process_does_not_recover_from_ends_it,
    ):
        test()
        print("ok", test.__name__)
