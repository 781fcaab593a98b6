// Row sums: short rows, and rows so long that a sum in a 16-bit type stops growing.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis), y(kt::Type::f32, rows);
  std::vector<double> want(rows);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < axis; ++i) {
      const std::size_t at = std::size_t(r) * axis + i;
      x.set(at, random.uniform(0.1, 0.5));
      want[r] += x.get(at);
    }

  report.judge(
      "rel_err", 5e-2, y,
      [&] {
        return refusal(rowops::row_sum(dtype_of(type), x.data(), y.data<float>(), rows, axis));
      },
      [&] {
        double worst = 0;
        for (int r = 0; r < rows; ++r)
          worst = std::fmax(worst, kt::relative_error(y, r, &want[r], 1));
        return worst;
      });
}

}  // namespace

int main(int argc, char** argv) {
  use_host_shared_memory();
  kt::Report report(argc, argv);
  for (const kt::Type type : types)
    for (const int axis : {7, 64, 1000, 2048, 32768, 36000})
      for (const int rows : {1, 3}) {
        const kt::Case c =
            kt::Case().with("axis", axis).with("rows", rows).with("dtype", kt::name_of(type));
        if (report.begin(c)) run(report, c, axis, rows, type);
      }
  return report.exit_code();
}
