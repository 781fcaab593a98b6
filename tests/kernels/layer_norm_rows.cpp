// Layer norm: plain rows, and rows whose mean is far larger than their spread.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

constexpr float eps = 1e-5f;

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type, double mean) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis), w(type, axis), b(type, axis), y(type, x.size());
  for (int i = 0; i < axis; ++i) {
    w.set(i, random.uniform(0.5, 1.5));
    b.set(i, random.uniform(-1, 1));
  }
  for (std::size_t i = 0; i < x.size(); ++i) x.set(i, mean + random.uniform(-1, 1));

  std::vector<double> want(x.size());
  for (int r = 0; r < rows; ++r) {
    const std::size_t first = std::size_t(r) * axis;
    double sum = 0, squares = 0;
    for (int i = 0; i < axis; ++i) sum += x.get(first + i);
    const double middle = sum / axis;
    for (int i = 0; i < axis; ++i) squares += std::pow(x.get(first + i) - middle, 2);
    const double factor = 1 / std::sqrt(squares / axis + double(eps));
    for (int i = 0; i < axis; ++i)
      want[first + i] = (x.get(first + i) - middle) * factor * w.get(i) + b.get(i);
  }

  report.judge(
      "rel_err", 1e-2, y,
      [&] {
        return refusal(rowops::layer_norm(dtype_of(type), x.data(), w.data(), b.data(), y.data(),
                                          rows, axis, eps));
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
    for (const int mean : {0, 100})
      for (const int axis : {8, 100, 128, 129, 512, 1000})
        for (const int rows : {1, 3}) {
          const kt::Case c = kt::Case()
                                 .with("axis", axis)
                                 .with("rows", rows)
                                 .with("dtype", kt::name_of(type))
                                 .with("mean", mean);
          if (report.begin(c)) run(report, c, axis, rows, type, mean);
        }
  return report.exit_code();
}
