// A plug-in for verify_plugin_test.cpp: attention in double, right in all it takes, unless the
// environment's FAULT names a mistake.
#include <fenv.h>

#include <cmath>
#include <vector>

#include "tests/plugin/misbehaviour.hpp"

namespace {

using Problem = flashbook_problem;
using Table = flashbook_implementation;

flashbook_strides strides_of(const Problem& p, const flashbook_strides& given, int64_t tokens,
                             int64_t heads, int64_t channels) {
  const flashbook_strides ignorant = {tokens * heads * channels, heads * channels, channels};
  const bool is_ignorant = fault("strides_ignored") && p.heads_q > 1;
  return is_ignorant ? ignorant : given;
}

double scale_of(const Problem& p) {
  return fault("scale_ignored") ? 1 / std::sqrt(static_cast<double>(p.d)) : p.scale;
}

int64_t kv_head(const Problem& p, int64_t h) {
  return fault("grouped_modulo") ? h % p.heads_kv : h * p.heads_kv / p.heads_q;
}

/// Whether row i sees key j.
bool sees(const Problem& p, int64_t i, int64_t j) {
  const bool from_the_end = p.alignment == FLASHBOOK_BOTTOM_RIGHT && !fault("top_left_always");
  const int64_t distance = j - (from_the_end ? i + p.n_k - p.n_q : i);
  const int64_t left = p.window_left - (fault("window_one_short") ? 1 : 0);
  const bool in_left = p.window_left == FLASHBOOK_UNBOUNDED || -distance <= left;
  const bool in_right = p.window_right == FLASHBOOK_UNBOUNDED || distance <= p.window_right;
  return in_left && in_right && !(p.causal && distance > 0);
}

template <class T>
T* row_of(T* data, const flashbook_strides& s, int64_t b, int64_t token, int64_t head) {
  return data + b * s.batch + token * s.token + head * s.head;
}

double dot(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
  return sum;
}

/// What a row of scores comes to.
struct Softmax {
  std::vector<double> P, slope;  // weights, and the soft-cap's derivative
  double lse;
};

/// `k` is the first key of row i's head.
Softmax softmax(const Problem& p, const float* q, const float* k, const flashbook_strides& ks,
                int64_t i) {
  const double cap = fault("softcap_ignored") ? 0 : p.softcap, scale = scale_of(p);
  const auto keys = static_cast<std::size_t>(p.n_k);
  Softmax out = {std::vector<double>(keys, 0), std::vector<double>(keys, 1), 0};
  std::vector<double> s(keys, -INFINITY);
  double m = fault("finite_sentinel") ? -1e4 : -INFINITY, l = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    const auto key = static_cast<int64_t>(j);
    if (!sees(p, i, key)) continue;
    s[j] = scale * dot(q, k + key * ks.token, p.d);
    const double t = cap > 0 ? std::tanh(s[j] / cap) : 0;
    if (cap > 0) s[j] = cap * t, out.slope[j] = 1 - t * t;
    m = s[j] <= m ? m : s[j];
  }
  for (std::size_t j = 0; j < keys; ++j) {
    if (s[j] == -INFINITY) continue;
    l += out.P[j] = std::exp(s[j] - m);
  }
  const bool is_empty = l == 0 && !fault("nan_in_empty_rows");
  for (double& x : out.P) x = is_empty ? 0 : x / l;
  out.lse = m == -INFINITY ? m : m + std::log(l);
  return out;
}

/// Calls f(b, h, i) for every row.
template <class F>
void for_each_row(const Problem& p, F&& f) {
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads_q; ++h)
      for (int64_t i = 0; i < p.n_q; ++i) f(b, h, i);
}

int supports(const Table*, const Problem* p, char* message) {
  if (p->n_q > 1 && fault("supports_crashes")) std::raise(SIGSEGV);
  if (p->n_q > 1 && fault("supports_fails")) return FLASHBOOK_FAILED;
  return flashbook_takes(p,
                         FLASHBOOK_TAKES_FP32 | FLASHBOOK_TAKES_CAUSAL | FLASHBOOK_TAKES_TOP_LEFT |
                             FLASHBOOK_TAKES_WINDOW | FLASHBOOK_TAKES_SOFTCAP |
                             FLASHBOOK_TAKES_GROUPED | FLASHBOOK_TAKES_D_V | FLASHBOOK_TAKES_SCALE |
                             FLASHBOOK_TAKES_STRIDES,
                         message);
}

size_t workspace_bytes(const Table*, const Problem* p) {
  return p->n_q > 1 && fault("asks_for_all_bytes") ? SIZE_MAX - 300 : 0;
}

/// O and LSE of row i.
void forward_row(const Problem& p, const flashbook_forward_tensors& t, int64_t b, int64_t h,
                 int64_t i) {
  const flashbook_strides qs = strides_of(p, p.q, p.n_q, p.heads_q, p.d);
  const int64_t g = kv_head(p, h);
  const float* v = row_of(static_cast<const float*>(t.v), p.v, b, 0, g);
  const Softmax of = softmax(p, row_of(static_cast<const float*>(t.q), qs, b, i, h),
                             row_of(static_cast<const float*>(t.k), p.k, b, 0, g), p.k, i);
  float* o = row_of(static_cast<float*>(t.o), p.o, b, i, h);
  for (int64_t c = 0; c < p.d_v; ++c) {
    double sum = fault("nan_in_empty_rows") && p.n_k > 0 ? of.P[0] * 0 : 0;
    for (std::size_t j = 0; j < of.P.size(); ++j)
      if (sees(p, i, static_cast<int64_t>(j)))
        sum += of.P[j] * static_cast<double>(v[static_cast<int64_t>(j) * p.v.token + c]);
    o[c] = static_cast<float>(sum);
  }
  static_cast<float*>(t.lse)[(b * p.heads_q + h) * p.n_q + i] =
      static_cast<float>(fault("lse_in_base_2") ? of.lse / std::log(2.0) : of.lse);
}

int forward(const Table*, const Problem* problem, const flashbook_forward_tensors* t, void*, void*,
            char*) {
  static int calls = 0;
  const Problem& p = *problem;
  if (fault("leaves_traps")) ::fedisableexcept(FE_ALL_EXCEPT);
  if (p.n_q > 1) misbehave(p, *t);
  if (p.n_q > 1 && fault("out_of_memory")) return FLASHBOOK_OUT_OF_MEMORY;
  if (p.n_q > 1 && fault("silent")) return FLASHBOOK_FAILED;
  const int64_t whole_tiles = p.n_q > 16 ? p.n_q / 16 * 16 : p.n_q;
  for_each_row(p, [&](int64_t b, int64_t h, int64_t i) {
    if (!fault("tail_unwritten") || i < whole_tiles) forward_row(p, *t, b, h, i);
  });
  float& first = *static_cast<float*>(t->o);
  if (p.n_q > 1 && fault("differs") && ++calls % 2 == 0) first = std::nextafter(first, 9.F);
  if (fault("leaves_traps")) ::feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_INEXACT);
  return FLASHBOOK_OK;
}

/// A gradient in double: [B, N, H, channels], contiguous.
struct Sum {
  Sum(int64_t b, int64_t n, int64_t h, int64_t c)
      : batch(b), tokens(n), heads(h), channels(c), x(static_cast<std::size_t>(b * n * h * c), 0) {}

  int64_t batch, tokens, heads, channels;
  std::vector<double> x;

  double* row(int64_t b, int64_t n, int64_t h) {
    return &x[static_cast<std::size_t>(((b * tokens + n) * heads + h) * channels)];
  }
  void write(float* data, const flashbook_strides& s) const {
    const double* from = x.data();
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t n = 0; n < tokens; ++n)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t c = 0; c < channels; ++c)
            row_of(data, s, b, n, h)[c] = static_cast<float>(*from++);
  }
};

struct Sums {
  explicit Sums(const Problem& p)
      : dQ(p.batch, p.n_q, p.heads_q, p.d),
        dK(p.batch, p.n_k, p.heads_kv, p.d),
        dV(p.batch, p.n_k, p.heads_kv, p.d_v) {}
  Sum dQ, dK, dV;
};

/// dS of a row: P (dP - D), with the soft-cap's derivative.
std::vector<double> score_gradients(const Problem& p, const Softmax& of, const float* v,
                                    const float* dO) {
  std::vector<double> dS = of.P;
  double D = 0;
  for (std::size_t j = 0; j < dS.size(); ++j) {
    if (of.P[j] == 0) continue;
    dS[j] = dot(dO, v + static_cast<int64_t>(j) * p.v.token, p.d_v);
    D += of.P[j] * dS[j];
  }
  for (std::size_t j = 0; j < dS.size(); ++j)
    if (of.P[j] != 0) dS[j] = of.P[j] * (dS[j] - D) * of.slope[j];
  return dS;
}

/// What row i adds.
void add_row(Sums& sums, const Problem& p, const flashbook_backward_tensors& t, int64_t b,
             int64_t h, int64_t i) {
  const int64_t g = kv_head(p, h);
  const float* q = row_of(static_cast<const float*>(t.q), p.q, b, i, h);
  const float* k = row_of(static_cast<const float*>(t.k), p.k, b, 0, g);
  const float* v = row_of(static_cast<const float*>(t.v), p.v, b, 0, g);
  const float* dO = row_of(static_cast<const float*>(t.grad_o), p.grad_o, b, i, h);
  const Softmax of = softmax(p, q, k, p.k, i);
  const std::vector<double> dS = score_gradients(p, of, v, dO);
  double* dq = sums.dQ.row(b, i, h);
  for (int64_t key = 0; key < p.n_k; ++key) {
    if (!sees(p, i, key)) continue;
    const auto j = static_cast<std::size_t>(key);
    double *dk = sums.dK.row(b, key, g), *dv = sums.dV.row(b, key, g);
    for (int64_t c = 0; c < p.d; ++c) {
      dq[c] += scale_of(p) * dS[j] * static_cast<double>(k[key * p.k.token + c]);
      dk[c] += (fault("dk_without_scale") ? 1 : scale_of(p)) * dS[j] * static_cast<double>(q[c]);
    }
    for (int64_t c = 0; c < p.d_v; ++c) dv[c] += of.P[j] * static_cast<double>(dO[c]);
  }
}

int backward(const Table*, const Problem* problem, const flashbook_backward_tensors* t, void*,
             void*, char*) {
  const Problem& p = *problem;
  if (fault("leaves_traps")) ::fedisableexcept(FE_ALL_EXCEPT);
  Sums sums(p);
  for_each_row(p, [&](int64_t b, int64_t h, int64_t i) { add_row(sums, p, *t, b, h, i); });
  if (fault("crashes_in_backward")) std::raise(SIGFPE);
  sums.dQ.write(static_cast<float*>(t->grad_q), p.grad_q);
  sums.dK.write(static_cast<float*>(t->grad_k), p.grad_k);
  sums.dV.write(static_cast<float*>(t->grad_v), p.grad_v);
  return FLASHBOOK_OK;
}

Table table() {
  Table mine = {};
  if (fault("no_size")) return mine;
  mine.size = sizeof mine;
  mine.version = FLASHBOOK_INTERFACE_VERSION + (fault("other_version") ? 1 : 0);
  mine.name = fault("no_name")           ? nullptr
              : fault("named_as_ours")   ? "standard"
              : fault("name_of_2_lines") ? "two\nlines"
                                         : "faulty";
  mine.memory = fault("on_gpu") ? FLASHBOOK_CUDA : FLASHBOOK_HOST;
  mine.supports_forward = supports;
  mine.supports_backward = supports;
  mine.forward_workspace_bytes = workspace_bytes;
  mine.forward = fault("no_passes") || fault("no_forward") ? nullptr : forward;
  mine.backward = fault("no_passes") || fault("no_backward") ? nullptr : backward;
  return mine;
}

}  // namespace

extern "C" const flashbook_implementation* flashbook_plugin() {
  if (fault("exits_at_once")) std::_Exit(3);
  if (fault("no_table")) return nullptr;
  static const Table mine = table();
  return &mine;
}
