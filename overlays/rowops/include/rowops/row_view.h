// A matrix whose rows are part of wider ones.
#pragma once

namespace rowops {

// `rows` rows of `axis` elements; a row begins `stride` elements behind the one before it.
struct row_view {
  const void* data;
  int rows, axis, stride;
};

}  // namespace rowops
