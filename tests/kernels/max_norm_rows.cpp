// Max norm: plain rows, rows of tiny elements, and a row of zeros, which must stay zero.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type, double size,
         bool zeros) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis), y(type, x.size());
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < axis; ++i)
      x.set(std::size_t(r) * axis + i, zeros && r == 0 ? 0.0 : size * random.uniform(-1, 1));

  std::vector<double> want(x.size());
  for (int r = 0; r < rows; ++r) {
    const std::size_t first = std::size_t(r) * axis;
    double top = 0;
    for (int i = 0; i < axis; ++i) top = std::fmax(top, std::fabs(x.get(first + i)));
    for (int i = 0; i < axis; ++i) want[first + i] = top > 0 ? x.get(first + i) / top : 0.0;
  }

  report.judge(
      "rel_err", 1e-2, y,
      [&] { return refusal(rowops::max_norm(dtype_of(type), x.data(), y.data(), rows, axis)); },
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
  struct Input { const char* name; double size; bool zeros; };
  const Input inputs[] = {{"plain", 1, false}, {"tiny", 1e-6, false}, {"zeros", 1, true}};
  for (const kt::Type type : types)
    for (const Input& input : inputs)
      for (const int axis : {8, 100, 128, 1000})
        for (const int rows : {1, 3}) {
          // Tiny elements are not numbers that half has.
          if (type == kt::Type::f16 && input.size < 1e-4) continue;
          const kt::Case c = kt::Case()
                                 .with("axis", axis)
                                 .with("rows", rows)
                                 .with("dtype", kt::name_of(type))
                                 .with("input", input.name);
          if (report.begin(c)) run(report, c, axis, rows, type, input.size, input.zeros);
        }
  return report.exit_code();
}
