// Argmax: rows with one largest element, and rows with several that are equal.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type, bool ties) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis), y(kt::Type::i32, rows);
  std::vector<int> want(rows);
  for (int r = 0; r < rows; ++r) {
    const std::size_t first = std::size_t(r) * axis;
    for (int i = 0; i < axis; ++i) x.set(first + i, random.uniform(-1, 1));
    want[r] = int(random.next() % (axis / 2)) | 1;
    x.set(first + want[r], 2);
    // Equal ones behind it: one that the same place in a warp holds, one that a lower place does.
    if (ties)
      for (int i = want[r] + 1; i < axis; ++i)
        if (i % 32 == want[r] % 32 || i % 32 == 0 || i == axis - 1) x.set(first + i, 2);
  }

  report.judge(
      "wrong_rows", 0, y,
      [&] { return refusal(rowops::argmax(dtype_of(type), x.data(), y.data<int>(), rows, axis)); },
      [&] {
        int wrong = 0;
        for (int r = 0; r < rows; ++r) wrong += y.get(r) != want[r];
        return double(wrong);
      });
}

}  // namespace

int main(int argc, char** argv) {
  use_host_shared_memory();
  kt::Report report(argc, argv);
  for (const kt::Type type : types)
    for (const bool ties : {false, true})
      for (const int axis : {64, 100, 500, 1024})
        for (const int rows : {1, 5}) {
          const kt::Case c = kt::Case()
                                 .with("axis", axis)
                                 .with("rows", rows)
                                 .with("dtype", kt::name_of(type))
                                 .with("input", ties ? "ties" : "distinct");
          if (report.begin(c)) run(report, c, axis, rows, type, ties);
        }
  return report.exit_code();
}
