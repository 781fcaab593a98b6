// The logarithm of a sum of exponentials, to a thousandth.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis), y(kt::Type::f32, rows);
  for (std::size_t i = 0; i < x.size(); ++i) x.set(i, random.uniform(-2, 2));

  std::vector<double> want(rows);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < axis; ++i) sum += std::exp(x.get(std::size_t(r) * axis + i));
    want[r] = std::log(sum);
  }

  report.judge(
      "abs_err", 1e-3, y,
      [&] {
        return refusal(rowops::logsumexp(dtype_of(type), x.data(), y.data<float>(), rows, axis));
      },
      [&] {
        double worst = 0;
        for (int r = 0; r < rows; ++r) {
          const double e = std::fabs(y.get(r) - want[r]);
          worst = e <= kt::no_figure ? std::fmax(worst, e) : kt::no_figure;
        }
        return worst;
      });
}

}  // namespace

int main(int argc, char** argv) {
  use_host_shared_memory();
  kt::Report report(argc, argv);
  for (const kt::Type type : types)
    for (const int axis : {1, 33, 200, 1000})
      for (const int rows : {1, 3}) {
        const kt::Case c =
            kt::Case().with("axis", axis).with("rows", rows).with("dtype", kt::name_of(type));
        if (report.begin(c)) run(report, c, axis, rows, type);
      }
  return report.exit_code();
}
