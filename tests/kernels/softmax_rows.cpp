// Softmax: plain rows, rows with large elements, and rows that are masked in part or throughout.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

const char* const kinds[] = {"plain", "large", "masked"};

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type, int kind) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis), y(type, x.size());
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < axis; ++i) {
      double v = random.uniform(-4, 4);
      if (kind == 1) v += 1000;
      // Row 0 has nothing left, row 1 its first half, and so on.
      if (kind == 2 && i >= axis * r / 2) v = -INFINITY;
      x.set(std::size_t(r) * axis + i, v);
    }

  std::vector<double> want(x.size());
  for (int r = 0; r < rows; ++r) {
    const std::size_t first = std::size_t(r) * axis;
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < axis; ++i) top = std::fmax(top, x.get(first + i));
    for (int i = 0; i < axis; ++i) {
      want[first + i] = std::isfinite(top) ? std::exp(x.get(first + i) - top) : 0.0;
      sum += want[first + i];
    }
    for (int i = 0; i < axis; ++i) want[first + i] /= sum > 0 ? sum : 1.0;
  }

  report.judge(
      "rel_err", 1e-2, y,
      [&] { return refusal(rowops::softmax(dtype_of(type), x.data(), y.data(), rows, axis)); },
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
    for (int kind = 0; kind < 3; ++kind)
      for (const int axis : {1, 5, 64, 127, 128, 500, 1024})
        for (const int rows : {1, 3}) {
          const kt::Case c = kt::Case()
                                 .with("axis", axis)
                                 .with("rows", rows)
                                 .with("dtype", kt::name_of(type))
                                 .with("input", kinds[kind]);
          if (report.begin(c)) run(report, c, axis, rows, type, kind);
        }
  return report.exit_code();
}
