// L2 norm: y = x / sqrt(sum(x^2)), row by row. One block a row.

#include "rowops/l2_norm.h"

#include <cmath>

#include "launch.h"
#include "reduce.h"
#include "types.h"

namespace rowops {
namespace {

constexpr int block_threads = 128;

template <typename T>
ROWOPS_KERNEL void l2_norm_kernel(const T* x, T* y, int axis, int stride) {
  x += (long long)blockIdx.x * stride;
  y += (long long)blockIdx.x * axis;
  const int first = int(threadIdx.x);

  float squares = 0.0f;
  for (int i = first; i < axis; i += block_threads) squares += widen(x[i]) * widen(x[i]);
  squares = block_sum<block_threads>(squares);

  const float factor = rsqrtf(squares);
  for (int i = first; i < axis; i += block_threads) y[i] = narrow<T>(widen(x[i]) * factor);
}

}  // namespace

status l2_norm(dtype type, row_view x, void* y, void* stream) {
  if (x.rows < 1 || x.axis < 1 || x.stride < x.axis) return status::bad_argument;
  return dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return launch(l2_norm_kernel<T>, dim3(x.rows), dim3(block_threads), stream,
                  static_cast<const T*>(x.data), static_cast<T*>(y), x.axis, x.stride);
  });
}

}  // namespace rowops
