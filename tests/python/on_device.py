"""What kernel_test.py does with a device, PyTorch and CuPy being there: poisoned tensors, filled shared memory, times by
events and by the replay of a graph, an error after which a process can do nothing more.

    python3 on_device.py FOLDER_OF_KERNEL_TEST
"""

import json
import os
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, sys.argv.pop(1))
import kernel_test as kt  # noqa: E402

try:
    import cupy
except ImportError:
    cupy = None

# Sums a row by way of shared memory of which it sets the first half only: right for short rows.
SUMS = """
extern "C" __global__ void sums(const float* x, float* y, int width) {
  __shared__ float part[64];
  if (threadIdx.x < 32) part[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < width; i += blockDim.x) atomicAdd(&part[i % (width > 32 ? 64 : 32)], x[blockIdx.x * width + i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < (width > 32 ? 64 : 32); ++i) sum += part[i];
    y[blockIdx.x] = sum;
  }
}
"""


def the_test(kind):
    """A test as a project has it: one kernel, its cases, a report."""
    report = kt.Report([])
    for case in report.sweep(width=[8, 32, 64], kind=[kind]):
        random = kt.Random(report.seed, case)
        rows, width = 5, case["width"]
        x = torch.tensor([random.uniform(-1, 1) for _ in range(rows * width)], device="cuda")
        want = x.double().reshape(rows, width).sum(dim=1)
        y = kt.poisoned(rows, like=x)

        def launch():
            if kind == "torch":
                torch.sum(x.reshape(rows, width), dim=1, out=y)
            elif kind == "unwritten":
                y[1:].copy_(x.reshape(rows, width).sum(dim=1)[1:])
            elif kind == "sticky":
                torch.zeros(1, device="cuda").index_select(0, torch.tensor([1 << 30], device="cuda"))
            else:
                to = [cupy.from_dlpack(tensor) for tensor in (x, y)]
                cupy.RawKernel(SUMS, "sums")((rows,), (64,), (*to, cupy.int32(width)))

        report.judge("rel_err", 1e-5, y, launch, lambda: kt.relative_error(y, want))
        if kind == "torch":
            for graph in (False, True):
                report.speed("graph" if graph else "events", kt.times(launch, graph=graph))
    report.exit()


def lines_of(kind):
    """What the test says in a process of its own: its exit code, and for each width the last line of each metric."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as results:
        env = {**os.environ, "OVERLAID_RESULTS": results.name}
        folder = os.path.dirname(kt.__file__)
        ended = subprocess.run([sys.executable, __file__, folder, "--kind", kind], env=env, capture_output=True, text=True)
        said = [json.loads(line) for line in results.read().splitlines()]
    found = {}
    for line in said:
        found.setdefault(line["case"]["width"], {})[line.get("metric", line.get("status"))] = line
    return ended.returncode, found, ended.stderr


def main():
    code, found, text = lines_of("torch")
    assert code == 0, (code, found, text)
    for width, line in found.items():
        assert line["rel_err"]["value"] <= 1e-5, line
        assert 0 < line["graph"]["value"] and 0 < line["events"]["value"], line
        print(f"torch, width {width}: {line['events']['value']:.4f} ms by events, {line['graph']['value']:.4f} ms by graph")
    code, found, _ = lines_of("unwritten")
    assert code == 1 and all("never written" in line["rel_err"]["why"] for line in found.values()), found
    code, found, text = lines_of("sticky")
    assert code < 0 and list(found) == [8] and list(found[8]) == ["start"], (code, found)
    print("an element that nobody wrote is told; a sticky error ends the process in the case that was announced")
    if cupy is None:
        print("shared memory: not filled, CuPy is not here")
        return
    code, found, text = lines_of("cupy")
    assert code == 1, (code, found, text)
    assert all(found[width]["rel_err"]["value"] <= 1e-5 for width in (8, 32)), found
    assert "depends on what shared memory held before" in found[64]["rel_err"]["why"], found
    print(f"CuPy, width 64: {found[64]['rel_err']['why']}")


if "--kind" in sys.argv:
    the_test(sys.argv[sys.argv.index("--kind") + 1])
else:
    main()
