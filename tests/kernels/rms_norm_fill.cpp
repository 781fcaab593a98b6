// RMS norm of one row with chosen contents of shared memory: by how much the factor that a row is multiplied with
// is off. A kernel that adds words to its sum that nobody wrote is off by sqrt(S / (S + words * fill)), S being the
// row's own sum of squares. Here S is the length of the row: its elements are 1 and -1.

#include "rowops_test.h"

namespace {

using namespace rowops_test;

constexpr float eps = 1e-5f;

void run(kt::Report& report, const kt::Case& c, int axis, int fill, kt::Type type) {
  kt::Random random(report.seed(), c.json());
  kt::Array x(type, axis), w(type, axis), y(type, axis);
  for (int i = 0; i < axis; ++i) {
    x.set(i, random.next() & 1 ? 1 : -1);
    w.set(i, random.uniform(0.5, 1.5));
  }
  const float word = float(fill);
  std::uint32_t bits;
  std::memcpy(&bits, &word, sizeof bits);
  kt::fill_shared(bits);
  const char* refused = refusal(
      rowops::rms_norm(dtype_of(type), x.data(), w.data(), y.data(), 1, axis, eps));
  if (refused) return report.error(refused);
  kt::finish();

  // The factor that fits all of the row best, so that rounding of single elements evens out.
  double products = 0, squares = 0;
  for (int i = 0; i < axis; ++i) {
    const double want = x.get(i) * w.get(i) / std::sqrt(1 + double(eps));
    products += y.get(i) * want;
    squares += want * want;
  }
  report.figure("factor_err", std::fabs(1 - products / squares), 1e-2);
}

}  // namespace

int main(int argc, char** argv) {
  use_host_shared_memory();
  kt::Report report(argc, argv);
  for (const kt::Type type : types)
    for (const int axis : {136, 256, 264, 512})
      for (const int fill : {0, 1, 100, 10000}) {
        const kt::Case c =
            kt::Case().with("axis", axis).with("dtype", kt::name_of(type)).with("fill", fill);
        if (report.begin(c)) run(report, c, axis, fill, type);
      }
  return report.exit_code();
}
