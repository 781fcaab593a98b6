// The backward pass of attention: dq, dk and dv against float64, over all that changes which code
// runs: one length or packed sequences, causal or not, the width of a head, shared heads or not.
//
// The figure of a case is the largest relative error of its three gradients. Right is about 1e-7.

#include <algorithm>

#include <kernel_test.h>
#include <tileattn/host.h>
#include <tileattn/tileattn.h>

#include "reference.h"

namespace {

using reference::Sizes;
using reference::Tensor;

constexpr double bound = 1e-4;
constexpr int heads = 4;

const char* refusal(tileattn::status status) {
  switch (status) {
    case tileattn::status::ok: return nullptr;
    case tileattn::status::bad_argument: return "refused: bad argument";
    case tileattn::status::launch_failed: return "refused: the launch failed";
    // A status that only some versions have, so that it cannot be named here.
    default: return "refused: a copy that cannot be guarded";
  }
}

// Random numbers as they are in the array, for the reference.
Tensor fill(kt::Array& array, kt::Random& random) {
  Tensor values(array.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    array.set(i, random.uniform(-1, 1));
    values[i] = array.get(i);
  }
  return values;
}

void set(kt::Array& array, const Tensor& values) {
  for (std::size_t i = 0; i < values.size(); ++i) array.set(i, values[i]);
}

double error_of(const kt::Array& got, const Tensor& want) {
  return kt::relative_error(got, 0, want.data(), want.size());
}

void run(kt::Report& report, const kt::Case& c, const Sizes& s, bool packed) {
  const kt::Type f32 = kt::Type::f32;
  const std::size_t q_size = s.tokens() * s.heads * s.dim, kv_size = s.tokens() * s.kv_heads * s.dim;
  kt::Random random(report.seed(), c.json());
  kt::Array q(f32, q_size), k(f32, kv_size), v(f32, kv_size), out(f32, q_size), dout(f32, q_size);
  const Tensor q_values = fill(q, random), k_values = fill(k, random), v_values = fill(v, random);
  const Tensor dout_values = fill(dout, random);
  const reference::Forward forward = reference::forward(s, q_values, k_values, v_values);
  kt::Array lse(f32, forward.lse.size());
  set(out, forward.out);
  set(lse, forward.lse);
  const reference::Gradients want =
      reference::backward(s, q_values, k_values, v_values, forward, dout_values);

  kt::Array starts(kt::Type::i32, s.starts.size());
  int longest = 0;
  for (std::size_t i = 0; i < s.starts.size(); ++i) {
    starts.set(i, s.starts[i]);
    if (i > 0) longest = std::max(longest, s.starts[i] - s.starts[i - 1]);
  }
  const tileattn::shape shape{int(s.starts.size()) - 1,
                              longest,
                              packed ? starts.data<int>() : nullptr,
                              int(s.tokens()),
                              s.heads,
                              s.kv_heads,
                              s.dim,
                              s.causal};
  kt::Array workspace(f32, std::size_t(tileattn::workspace_floats(shape)));
  kt::Array dq(f32, q_size), dk(f32, kv_size), dv(f32, kv_size);
  report.judge(
      "rel_err", bound, dq,
      [&] {
        dk.poison();
        dv.poison();
        for (std::size_t i = 0; i < workspace.size(); ++i) workspace.set(i, 0);
        const tileattn::inputs in{q.data<float>(),   k.data<float>(),    v.data<float>(),
                                  out.data<float>(), dout.data<float>(), lse.data<float>()};
        return refusal(tileattn::backward(shape, in, dq.data<float>(), dk.data<float>(),
                                          dv.data<float>(), workspace.data<float>()));
      },
      [&] {
        const double worst =
            std::fmax(error_of(dq, want.dq), std::fmax(error_of(dk, want.dk), error_of(dv, want.dv)));
        const bool intact = dk.intact() && dv.intact() && workspace.intact();
        return intact || worst > bound ? worst : kt::no_figure;
      });
}

}  // namespace

int main(int argc, char** argv) {
#if !defined(__CUDACC__)
  kt::fill_shared_hook() = tileattn::host::fill_shared;
#endif
  kt::Report report(argc, argv);
  // Lengths that are no multiple of a tile's rows, and one that is shorter than a tile.
  for (const bool packed : {false, true})
    for (const bool causal : {false, true})
      for (const int dim : {64, 72, 80, 104, 128})
        for (const int kv_heads : {heads, heads / 2}) {
          const kt::Case c = kt::Case()
                                 .with("batch", packed ? "varlen" : "dense")
                                 .with("causal", causal ? "yes" : "no")
                                 .with("head_dim", dim)
                                 .with("heads", kv_heads == heads ? "mha" : "gqa");
          const std::vector<int> starts = packed ? std::vector<int>{0, 24, 29, 66}
                                                 : std::vector<int>{0, 36, 72};
          if (report.begin(c)) run(report, c, Sizes{starts, heads, kv_heads, dim, causal}, packed);
        }
  return report.exit_code();
}
