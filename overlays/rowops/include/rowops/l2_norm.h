// L2 norm, for rows that need not lie side by side.
#pragma once

#include "rowops/row_view.h"
#include "rowops/rowops.h"

namespace rowops {

// y = x / sqrt(the row's sum of x^2). y is dense: `axis` elements a row.
status l2_norm(dtype type, row_view x, void* y, void* stream = nullptr);

}  // namespace rowops
