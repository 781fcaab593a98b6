// RMS norm over many sizes: every axis at which the way through the kernel can change.
//
// By default the sizes around those changes; --full takes every multiple of 8 up to 8192 and
// the neighbours of the powers of two. Rows have different energies, so that a row that takes in
// another row's sum is far off; --equal-energy gives them all the same.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

bool near_a_power_of_two(int axis) {
  for (int power = 8; power <= 8192; power *= 2)
    if (axis >= power - 1 && axis <= power + 1) return true;
  return false;
}

std::vector<int> sizes(bool full) {
  std::vector<int> list;
  for (int axis = 8; axis <= 8192; ++axis) {
    if (axis % 8 != 0 && !near_a_power_of_two(axis)) continue;
    // Where blocks change their shape, and a little to both sides of it.
    const bool swept = axis >= 112 && axis <= 544;
    const bool sampled = near_a_power_of_two(axis) || axis % 1000 == 0;
    if (full || swept || sampled) list.push_back(axis);
  }
  return list;
}

constexpr float eps = 1e-5f;

void run(kt::Report& report, const kt::Case& c, int axis, int rows, kt::Type type, bool equal) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, std::size_t(rows) * axis), w(type, axis), y(type, x.size());
  for (int i = 0; i < axis; ++i) w.set(i, random.uniform(0.5, 1.5));
  for (int r = 0; r < rows; ++r) {
    const double size = equal ? 1.0 : 1.0 + r % 4;
    // With equal energies every row is the same up to signs.
    kt::Random values = equal ? kt::Random(report.seed(), "row") : random;
    for (int i = 0; i < axis; ++i) {
      const double v = values.uniform(0.1, 1.0) * size;
      x.set(std::size_t(r) * axis + i, random.next() & 1 ? v : -v);
    }
  }

  std::vector<double> want(x.size());
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    for (int i = 0; i < axis; ++i) {
      const double v = x.get(std::size_t(r) * axis + i);
      squares += v * v;
    }
    const double factor = 1.0 / std::sqrt(squares / axis + double(eps));
    for (int i = 0; i < axis; ++i) {
      const std::size_t at = std::size_t(r) * axis + i;
      want[at] = x.get(at) * factor * w.get(i);
    }
  }

  report.judge(
      "rel_err", 1e-2, y,
      [&] {
        return refusal(rowops::rms_norm(dtype_of(type), x.data(), w.data(), y.data(), rows, axis,
                                        eps));
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
  const bool full = report.flag("--full"), equal = report.flag("--equal-energy");
  std::vector<int> row_counts{1, 2, 3, 4};
  if (full) row_counts.insert(row_counts.end(), {8, 17});

  for (const kt::Type type : types)
    for (const int axis : sizes(full))
      for (const int rows : row_counts) {
        const kt::Case c =
            kt::Case().with("axis", axis).with("rows", rows).with("dtype", kt::name_of(type));
        if (report.begin(c)) run(report, c, axis, rows, type, equal);
      }
  return report.exit_code();
}
