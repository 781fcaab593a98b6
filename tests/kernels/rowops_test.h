// What the kernel tests of rowops share: the types by both names, and the fill of shared memory.
#pragma once

#include <kernel_test.h>
#include <rowops/host.h>
#include <rowops/rowops.h>

namespace rowops_test {

constexpr kt::Type types[] = {kt::Type::f32, kt::Type::f16, kt::Type::bf16};

inline rowops::dtype dtype_of(kt::Type type) {
  switch (type) {
    case kt::Type::f16: return rowops::dtype::f16;
    case kt::Type::bf16: return rowops::dtype::bf16;
    default: return rowops::dtype::f32;
  }
}

// For kt::Report::judge: why the library refused, or nullptr.
inline const char* refusal(rowops::status status) {
  switch (status) {
    case rowops::status::ok: return nullptr;
    case rowops::status::bad_argument: return "refused: bad argument";
    case rowops::status::launch_failed: return "refused: the launch failed";
  }
  return "refused";
}

// Call first in main.
inline void use_host_shared_memory() {
#if !defined(__CUDACC__)
  kt::fill_shared_hook() = rowops::host::fill_shared;
#endif
}

}  // namespace rowops_test
