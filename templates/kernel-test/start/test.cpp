// A kernel test. Replace `twice` by the kernel of the upstream, and `want` by what is right.
//
// kernel_test.h beside it says what there is; the report is JSON Lines.

#include "kernel_test.h"

namespace {

// Stands for the kernel. On a device: a function that launches it, and returns why it was refused.
const char* twice(const float* x, float* y, int size) {
  for (int i = 0; i < size; ++i) y[i] = 2 * x[i];
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  kt::Report report(argc, argv);
  for (const int rows : {1, 2, 3})
    for (const int axis : {64, 257, 512}) {
      const kt::Case c = kt::Case().with("axis", axis).with("rows", rows);
      if (!report.begin(c)) continue;

      // The same inputs whichever cases run.
      kt::Random random(report.seed(), c.json());
      kt::Array x(kt::Type::f32, std::size_t(rows) * axis), y(kt::Type::f32, x.size());
      for (std::size_t i = 0; i < x.size(); ++i) x.set(i, random.uniform(-1, 1));

      // What is right, in float64, from the inputs as rounded to their type.
      std::vector<double> want(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) want[i] = 2 * x.get(i);

      report.judge(
          "rel_err", 1e-6, y, [&] { return twice(x.data<float>(), y.data<float>(), int(x.size())); },
          [&] { return kt::row_error(y, want, axis); });
    }
  return report.exit_code();
}
