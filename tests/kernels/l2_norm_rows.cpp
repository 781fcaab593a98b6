// L2 norm. Upstream has no such kernel: this is built against the overlay that brings it.

#include <rowops/l2_norm.h>

#include "rowops_test.h"

namespace {

using namespace rowops_test;

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type) {
  kt::Random random(report.seed(), c.json());
  // The rows are part of a wider matrix.
  const int stride = axis + 5;
  kt::Array x(type, std::size_t(rows) * stride), y(type, std::size_t(rows) * axis);
  for (std::size_t i = 0; i < x.size(); ++i) x.set(i, random.uniform(-1, 1));

  std::vector<double> want(y.size());
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    for (int i = 0; i < axis; ++i) squares += std::pow(x.get(std::size_t(r) * stride + i), 2);
    for (int i = 0; i < axis; ++i)
      want[std::size_t(r) * axis + i] = x.get(std::size_t(r) * stride + i) / std::sqrt(squares);
  }

  report.judge(
      "rel_err", 1e-2, y,
      [&] {
        const rowops::row_view view{x.data(), rows, axis, stride};
        return refusal(rowops::l2_norm(dtype_of(type), view, y.data()));
      },
      [&] {
        double worst = 0;
        for (int r = 0; r < rows; ++r) {
          const std::size_t first = std::size_t(r) * axis;
          worst = std::fmax(worst, kt::relative_error(y, first, &want[first], axis));
        }
        return worst;
      });
}

}  // namespace

int main(int argc, char** argv) {
  use_host_shared_memory();
  kt::Report report(argc, argv);
  for (const kt::Type type : types)
    for (const int axis : {1, 100, 256, 1000})
      for (const int rows : {1, 3}) {
        const kt::Case c =
            kt::Case().with("axis", axis).with("rows", rows).with("dtype", kt::name_of(type));
        if (report.begin(c)) run(report, c, axis, rows, type);
      }
  return report.exit_code();
}
