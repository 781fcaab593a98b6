// Attention and its gradients in double, straight from the definition.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace reference {

// Tensors are [token][head][column]; `starts` has the first token of each sequence, and the end.
struct Sizes {
  std::vector<int> starts;
  int heads, kv_heads, dim;
  bool causal;

  std::size_t tokens() const { return std::size_t(starts.back()); }
  std::size_t q_row(int token, int head) const {
    return (std::size_t(token) * heads + head) * dim;
  }
  std::size_t kv_row(int token, int head) const {
    return (std::size_t(token) * kv_heads + head / (heads / kv_heads)) * dim;
  }
};

using Tensor = std::vector<double>;

inline double product(const double* a, const double* b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// What a forward pass leaves: the output, and of each row of scores the logarithm of the sum of
// its exponentials.
struct Forward {
  Tensor out, lse;
};

// Calls `row(head, token, first, end)` for each row of scores: the keys that the query sees.
template <typename F>
void each_row(const Sizes& s, F row) {
  for (std::size_t sequence = 0; sequence + 1 < s.starts.size(); ++sequence)
    for (int token = s.starts[sequence]; token < s.starts[sequence + 1]; ++token)
      for (int head = 0; head < s.heads; ++head)
        row(head, token, s.starts[sequence], s.causal ? token + 1 : s.starts[sequence + 1]);
}

inline Forward forward(const Sizes& s, const Tensor& q, const Tensor& k, const Tensor& v) {
  const double scale = 1 / std::sqrt(double(s.dim));
  Forward f{Tensor(q.size()), Tensor(s.tokens() * s.heads)};
  each_row(s, [&](int head, int token, int first, int end) {
    double sum = 0;
    double* const out = &f.out[s.q_row(token, head)];
    for (int key = first; key < end; ++key) {
      const std::size_t at = s.kv_row(key, head);
      const double e = std::exp(scale * product(&q[s.q_row(token, head)], &k[at], s.dim));
      sum += e;
      for (int c = 0; c < s.dim; ++c) out[c] += e * v[at + c];
    }
    for (int c = 0; c < s.dim; ++c) out[c] /= sum;
    f.lse[std::size_t(token) * s.heads + head] = std::log(sum);
  });
  return f;
}

struct Gradients {
  Tensor dq, dk, dv;
};

inline Gradients backward(const Sizes& s, const Tensor& q, const Tensor& k, const Tensor& v,
                          const Forward& f, const Tensor& dout) {
  const double scale = 1 / std::sqrt(double(s.dim));
  Gradients g{Tensor(q.size()), Tensor(k.size()), Tensor(v.size())};
  each_row(s, [&](int head, int token, int first, int end) {
    const std::size_t row = s.q_row(token, head);
    const double delta = product(&f.out[row], &dout[row], s.dim);
    const double lse = f.lse[std::size_t(token) * s.heads + head];
    for (int key = first; key < end; ++key) {
      const std::size_t at = s.kv_row(key, head);
      const double p = std::exp(scale * product(&q[row], &k[at], s.dim) - lse);
      const double ds = p * (product(&dout[row], &v[at], s.dim) - delta) * scale;
      for (int c = 0; c < s.dim; ++c) {
        g.dq[row + c] += ds * k[at + c];
        g.dk[at + c] += ds * q[row + c];
        g.dv[at + c] += p * dout[row + c];
      }
    }
  });
  return g;
}

}  // namespace reference
