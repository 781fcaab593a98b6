// Layer norm: y = (x - mean) / sqrt(variance + eps) * w + b, row by row. One block a row.
//
// Notes for the port to the other device:
//   - both sums go through block_sum, so a block must be a whole number of warps;
//   - the second pass needs the mean in every thread, not in the first one alone.

#include <cmath>

#include "launch.h"
#include "reduce.h"
#include "types.h"

namespace rowops {
namespace {

constexpr int block_threads = 128;

template <typename T>
ROWOPS_KERNEL void layer_norm_kernel(const T* x, const T* w, const T* b, T* y, int axis,
                                     float eps) {
  x += (long long)blockIdx.x * axis;
  y += (long long)blockIdx.x * axis;
  const int first = int(threadIdx.x);

  float sum = 0.0f;
  for (int i = first; i < axis; i += block_threads) sum += widen(x[i]);
  const float mean = block_sum<block_threads>(sum) / float(axis);

  // Second pass: squares of what is left when the mean is gone. The port must not merge it
  // with the first: a large mean would swallow the digits.
  float squares = 0.0f;
  for (int i = first; i < axis; i += block_threads) {
    const float d = widen(x[i]) - mean;
    squares += d * d;
  }
  squares = block_sum<block_threads>(squares);

  const float factor = rsqrtf(squares / float(axis) + eps);
  for (int i = first; i < axis; i += block_threads)
    y[i] = narrow<T>((widen(x[i]) - mean) * factor * widen(w[i]) + widen(b[i]));
}

}  // namespace

status layer_norm(dtype type, const void* x, const void* w, const void* b, void* y, int rows,
                  int axis, float eps, void* stream) {
  if (rows < 1 || axis < 1) return status::bad_argument;
  return dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return launch(layer_norm_kernel<T>, dim3(rows), dim3(block_threads), stream,
                  static_cast<const T*>(x), static_cast<const T*>(w), static_cast<const T*>(b),
                  static_cast<T*>(y), axis, eps);
  });
}

}  // namespace rowops
