// A guard: kernels write all of their output, nothing beside it, and leave their input alone.
// It says nothing about figures.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

const char* const kernels[] = {"row_sum", "softmax", "argmax"};

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type, int kernel) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis);
  for (std::size_t i = 0; i < x.size(); ++i) x.set(i, random.uniform(0.1, 1));
  const std::vector<char> before(x.raw(), x.raw() + x.bytes());

  const kt::Type result = kernel == 0 ? kt::Type::f32 : kernel == 1 ? type : kt::Type::i32;
  kt::Array y(result, kernel == 1 ? x.size() : rows);
  report.judge(
      "stray_elements", 0, y,
      [&] {
        switch (kernel) {
          case 0:
            return refusal(rowops::row_sum(dtype_of(type), x.data(), y.data<float>(), rows, axis));
          case 1:
            return refusal(rowops::softmax(dtype_of(type), x.data(), y.data(), rows, axis));
          default:
            return refusal(rowops::argmax(dtype_of(type), x.data(), y.data<int>(), rows, axis));
        }
      },
      [&] {
        if (!x.intact() || std::memcmp(before.data(), x.raw(), x.bytes()) != 0)
          return kt::no_figure;
        int unwritten = 0;
        for (std::size_t i = 0; i < y.size(); ++i) unwritten += !(y.get(i) >= 0);
        return double(unwritten);
      });
}

}  // namespace

int main(int argc, char** argv) {
  use_host_shared_memory();
  kt::Report report(argc, argv);
  for (const kt::Type type : types)
    for (int kernel = 0; kernel < 3; ++kernel)
      for (const int axis : {1, 31, 33, 127, 129, 5000})
        for (const int rows : {1, 4, 5}) {
          const kt::Case c = kt::Case()
                                 .with("kernel", kernels[kernel])
                                 .with("axis", axis)
                                 .with("rows", rows)
                                 .with("dtype", kt::name_of(type));
          if (report.begin(c)) run(report, c, axis, rows, type, kernel);
        }
  return report.exit_code();
}
