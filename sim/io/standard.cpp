#include "sim/io/standard.hpp"

#include <cmath>

#include "sim/io/online_softmax.hpp"
#include "sim/io/scores.hpp"
#include "sim/io/tensors.hpp"
#include "sim/io/tile_math.hpp"

namespace flashbook::io {
namespace {

/// P and dS of a hidden pair are −0 in memory, and never −0 otherwise: a visible pair whose P
/// underflows still carries NaN from V and dO, a hidden one carries nothing, and the sign says
/// which is which without another matrix to move.
constexpr float hidden_weight = -0.f;

bool is_hidden(float weight) {
  return weight == 0 && std::signbit(weight);
}

/// Rounds as a copy to memory would, so that what underflows there becomes +0 here.
float visible_weight(float weight, DType dtype) {
  if (dtype == DType::fp16) weight = static_cast<float>(half(weight));
  if (dtype == DType::bf16) weight = static_cast<float>(bfloat16(weight));
  return weight + 0.f;  // −0 + 0 = +0
}

/// C += W X. Hidden pairs take no part, although 0 · NaN is NaN: rows of X that hold NaN or Inf
/// stay out of the product and are added pair by pair.
template <class Weights>
void add_seen_product(Sram& sram, Tile& C, const Weights& W, Tile& X) {
  std::vector<std::pair<Index, Matrix<float>>> poisoned;
  if (!all_finite(X))
    for (Index j = 0; j < X.rows(); ++j)
      if (!X.row(j).allFinite()) {
        poisoned.emplace_back(j, X.row(j));
        X.row(j).setZero();
      }
  add_product(sram, C, W, X);
  for (const auto& [j, row] : poisoned) {
    for (Index i = 0; i < C.rows(); ++i)
      if (!is_hidden(W(i, j))) C.row(i) += W(i, j) * row;
    X.row(j) = row;
  }
}

class Standard {
 public:
  Standard(Machine& machine, const AttentionProblem& problem, const Tensors& tensors)
      : machine_(machine),
        problem_(problem),
        hbm_(tensors),
        scores_(problem, hbm_),
        backward_(hbm_.grad_o) {
    S_ = add_pairs("S");
    P_ = add_pairs("P");
  }

  void forward();
  void backward();

 private:
  /// A workspace [members, H_q, N_q, N_k] in the problem's dtype.
  Tensor add_pairs(const char* name);
  static Region pairs(const Member& m, Index head, Range rows) {
    return {m.index, head, rows.first, rows.size(), 0, m.n_k};
  }
  template <class Task>
  void for_heads(Index heads, const Task& task);
  template <class Rows>
  static void stream(Sram& sram, const Member& member, const Rows& rows);

  void compute_scores(Sram& sram, const HeadOf& at) const;
  void softmax(Sram& sram, const HeadOf& at) const;
  void weigh_values(Sram& sram, const HeadOf& at) const;
  void grad_values(Sram& sram, const HeadOf& at) const;
  void grad_weights(Sram& sram, const HeadOf& at) const;
  void grad_scores(Sram& sram, Index head) const;
  void grad_queries(Sram& sram, const HeadOf& at) const;
  void grad_keys(Sram& sram, const HeadOf& at) const;
  void grad_bias(Sram& sram, const BiasTile& tile) const;
  float grad_score_rows(Sram& sram, const HeadOf& at, Range rows, float sink) const;
  Tile load_grad_capped(Sram& sram, const HeadOf& at, Range rows) const;

  Machine& machine_;
  const AttentionProblem& problem_;
  const Tensors hbm_;
  const ScoreRule scores_;
  const bool backward_;  ///< the forward pass serves a backward pass, and writes no output
  Tensor S_, P_, dP_, dS_;
  Tensor H_;  ///< the soft-cap's slope, if the backward pass will want it
};

Tensor Standard::add_pairs(const char* name) {
  Index n_q = 0, n_k = 0;  // of the longest member
  for (Index b = 0; b < problem_->members; ++b) {
    n_q = std::max(n_q, problem_.member(b).n_q);
    n_k = std::max(n_k, problem_.member(b).n_k);
  }
  return machine_.hbm.add_workspace(name, Kind::matrix, problem_.dtype(),
                                    {problem_->members, problem_->heads_q, n_q, n_k});
}

/// One kernel: a worker a head of a member.
template <class Task>
void Standard::for_heads(Index heads, const Task& task) {
  launch_over(machine_, heads_of(problem_, heads),
              [&](Sram& sram, const HeadOf& at) { (this->*task)(sram, at); });
}

template <class Rows>
void Standard::stream(Sram& sram, const Member& member, const Rows& rows) {
  for (Index i = 0; i * standard_rows < member.n_q; ++i) {
    rows(tile_of(i, standard_rows, member.n_q));
    sram.end_step();
  }
}

// ---- forward

void Standard::forward() {
  if (backward_ && problem_->softcap > 0) H_ = add_pairs("H");
  for_heads(problem_->heads_q, &Standard::compute_scores);
  for_heads(problem_->heads_q, &Standard::softmax);
  if (!backward_) for_heads(problem_->heads_q, &Standard::weigh_values);
}

/// S = scale · QKᵀ, capped, biased and masked: K whole, rows of Q stream.
void Standard::compute_scores(Sram& sram, const HeadOf& at) const {
  const Member& m = at.member;
  const Index h = at.head;
  const Range keys = {0, m.n_k};
  const float slope = scores_.load_slope(sram, m, h);
  const Tile K = sram.load(hbm_.k, key_rows(m, problem_.kv_head(h), keys, problem_->d));
  stream(sram, m, [&](Range rows) {
    const Tile Q = sram.load(hbm_.q, query_rows(m, h, rows, problem_->d));
    Tile S = sram.allocate("S", rows.size(), m.n_k);
    std::optional<Tile> H;
    if (H_) H.emplace(sram.allocate("H", rows.size(), m.n_k));
    scores_.compute(sram, {m, h, rows, keys}, slope, Q, K, S, H ? &*H : nullptr);
    if (H_) sram.store(*H, H_, pairs(m, h, rows));
    sram.store(S, S_, pairs(m, h, rows));
  });
}

/// P = softmax(S), row by row, and −0 where S is −∞.
void Standard::softmax(Sram& sram, const HeadOf& at) const {
  const Member& m = at.member;
  const Index h = at.head;
  const SoftmaxState start =
      hbm_.sinks ? state_of_part(sram.load_element(hbm_.sinks, 0, h, 0)) : SoftmaxState{};
  const bool writes_lse = hbm_.lse && !backward_;
  stream(sram, m, [&](Range rows) {
    Tile S = sram.load(S_, pairs(m, h, rows)), lse = sram.allocate("LSE", rows.size(), 1);
    sram.show("S", S);
    for (Index i = 0; i < S.rows(); ++i) {
      auto row = S.row(i).array();
      const Eigen::Array<bool, 1, Eigen::Dynamic> hidden = row == minus_infinity;
      SoftmaxState state = start;
      absorb(row, state.m, state.l);
      row = hidden.select(hidden_weight, row / state.l);
      lse(i) = state.lse();
    }
    sram.show("P = softmax(S)", S);
    sram.store(S, P_, pairs(m, h, rows));
    if (!writes_lse) return;
    sram.show("LSE", lse);
    sram.store(lse, hbm_.lse, query_rows(m, h, rows, 1));
  });
}

// [weigh_values]
/// O = PV: V whole, rows of P stream.
void Standard::weigh_values(Sram& sram, const HeadOf& at) const {
  const Member& m = at.member;
  const Index h = at.head, kv_head = problem_.kv_head(h);
  Tile V = sram.load(hbm_.v, key_rows(m, kv_head, {0, m.n_k}, problem_->d_v));
  stream(sram, m, [&](Range rows) {
    const Tile P = sram.load(P_, pairs(m, h, rows));
    Tile O = sram.allocate("O", rows.size(), problem_->d_v);
    O.setZero();
    add_seen_product(sram, O, P, V);
    sram.show("P", P);
    sram.show("O = P V", O);
    sram.store(O, hbm_.o, query_rows(m, h, rows, problem_->d_v));
  });
}
// [/weigh_values]

// ---- backward

void Standard::backward() {
  dP_ = add_pairs("dP");
  dS_ = add_pairs("dS");
  for_heads(problem_->heads_kv, &Standard::grad_values);
  for_heads(problem_->heads_q, &Standard::grad_weights);
  machine_.launch(problem_->heads_q, [&](Sram& sram, Index head) { grad_scores(sram, head); });
  for_heads(problem_->heads_q, &Standard::grad_queries);
  for_heads(problem_->heads_kv, &Standard::grad_keys);
  if (!hbm_.grad_bias) return;
  launch_over(machine_, bias_tiles(problem_, {standard_rows, problem_->n_k}),
              [&](Sram& sram, const BiasTile& tile) { grad_bias(sram, tile); });
}

/// dV = Σ_group PᵀdO: dV whole, rows of P and dO stream.
void Standard::grad_values(Sram& sram, const HeadOf& at) const {
  const Member& m = at.member;
  const Index kv_head = at.head;
  Tile dV = sram.allocate("dV", m.n_k, problem_->d_v);
  dV.setZero();
  for (Index g = 0; g < problem_.group(); ++g) {
    const Index h = kv_head * problem_.group() + g;
    stream(sram, m, [&](Range rows) {
      const Tile P = sram.load(P_, pairs(m, h, rows));
      Tile dO = sram.load(hbm_.grad_o, query_rows(m, h, rows, problem_->d_v));
      add_seen_product(sram, dV, P.transpose(), dO);
      sram.show("P", P);
      sram.show("dV = Σ Pᵀ dO", dV);
    });
  }
  sram.store(dV, hbm_.grad_v, key_rows(m, kv_head, {0, m.n_k}, problem_->d_v));
}

/// dP = dO Vᵀ: V whole, rows of dO stream.
void Standard::grad_weights(Sram& sram, const HeadOf& at) const {
  const Member& m = at.member;
  const Index h = at.head;
  const Tile V = sram.load(hbm_.v, key_rows(m, problem_.kv_head(h), {0, m.n_k}, problem_->d_v));
  stream(sram, m, [&](Range rows) {
    const Tile dO = sram.load(hbm_.grad_o, query_rows(m, h, rows, problem_->d_v));
    Tile dP = sram.allocate("dP", rows.size(), m.n_k);
    set_product(sram, dP, 1, dO, V.transpose());
    sram.show("dP = dO Vᵀ", dP);
    sram.store(dP, dP_, pairs(m, h, rows));
  });
}

/// dS of one query head of all members, and dSink.
void Standard::grad_scores(Sram& sram, Index head) const {
  const float sink = hbm_.sinks ? sram.load_element(hbm_.sinks, 0, head, 0) : 0.f;
  float grad_sink = 0;
  for (Index b = 0; b < problem_->members; ++b) {
    const HeadOf at = {problem_.member(b), head};
    stream(sram, at.member,
           [&](Range rows) { grad_sink += grad_score_rows(sram, at, rows, sink); });
  }
  if (hbm_.sinks) sram.store_element(grad_sink, hbm_.grad_sinks, 0, head, 0);
}

/// D = rowsum(P ∘ dP) − dLSE;  dS = P ∘ (dP − D);  returns −Σ_i e^(z − LSE_i) D_i.
float Standard::grad_score_rows(Sram& sram, const HeadOf& at, Range rows, float sink) const {
  const Member& m = at.member;
  const Index h = at.head;
  const Region vector = query_rows(m, h, rows, 1);
  const Tile P = sram.load(P_, pairs(m, h, rows));
  Tile dS = sram.load(dP_, pairs(m, h, rows)), D = sram.allocate("D", rows.size(), 1);
  Tile& dP = dS;
  Eigen::ArrayXf products(m.n_k);
  for (Index i = 0; i < P.rows(); ++i) {
    for (Index j = 0; j < P.cols(); ++j)
      products(j) = is_hidden(P(i, j)) ? 0.f : P(i, j) * dP(i, j);
    D(i) = products.sum();
  }
  if (hbm_.grad_lse) D -= sram.load(hbm_.grad_lse, vector);
  for (Index i = 0; i < P.rows(); ++i)
    for (Index j = 0; j < P.cols(); ++j)
      dS(i, j) = is_hidden(P(i, j)) ? hidden_weight
                                    : visible_weight(P(i, j) * (dP(i, j) - D(i)), problem_.dtype());
  sram.show("P", P);
  sram.show("Δ = rowsum(P ∘ dP)", D);
  sram.show("dS = P ∘ (dP − Δ)", dS);
  sram.store(dS, dS_, pairs(m, h, rows));
  if (!hbm_.sinks) return 0;

  const Tile lse = sram.load(hbm_.lse, vector);
  float grad_sink = 0;
  for (Index i = 0; i < D.rows(); ++i) grad_sink -= sink_weight(sink, lse(i)) * D(i);
  return grad_sink;
}

/// dX = dS ∘ H.
Tile Standard::load_grad_capped(Sram& sram, const HeadOf& at, Range rows) const {
  Tile dX = sram.load(dS_, pairs(at.member, at.head, rows));
  if (!H_) return dX;
  const Tile H = sram.load(H_, pairs(at.member, at.head, rows));
  for (Index i = 0; i < dX.size(); ++i)
    if (!is_hidden(dX(i))) dX(i) = visible_weight(dX(i) * H(i), problem_.dtype());
  return dX;
}

/// dQ = scale · dX K: K whole, rows of dX stream.
void Standard::grad_queries(Sram& sram, const HeadOf& at) const {
  const Member& m = at.member;
  const Index h = at.head;
  Tile K = sram.load(hbm_.k, key_rows(m, problem_.kv_head(h), {0, m.n_k}, problem_->d));
  stream(sram, m, [&](Range rows) {
    const Tile dX = load_grad_capped(sram, at, rows);
    Tile dQ = sram.allocate("dQ", rows.size(), problem_->d);
    dQ.setZero();
    add_seen_product(sram, dQ, dX, K);
    dQ *= static_cast<float>(problem_->scale);
    sram.show("dS", dX);
    sram.show("dQ = scale · dS K", dQ);
    sram.store(dQ, hbm_.grad_q, query_rows(m, h, rows, problem_->d));
  });
}

/// dK = scale · Σ_group dXᵀQ: dK whole, rows of dX and Q stream.
void Standard::grad_keys(Sram& sram, const HeadOf& at) const {
  const Member& m = at.member;
  const Index kv_head = at.head;
  Tile dK = sram.allocate("dK", m.n_k, problem_->d);
  dK.setZero();
  for (Index g = 0; g < problem_.group(); ++g) {
    const Index h = kv_head * problem_.group() + g;
    stream(sram, m, [&](Range rows) {
      const Tile dX = load_grad_capped(sram, {m, h}, rows);
      Tile Q = sram.load(hbm_.q, query_rows(m, h, rows, problem_->d));
      add_seen_product(sram, dK, dX.transpose(), Q);
      sram.show("dS", dX);
      sram.show("dK = Σ dSᵀ Q", dK);
    });
  }
  dK *= static_cast<float>(problem_->scale);
  sram.show("dK = scale · Σ dSᵀ Q", dK);
  sram.store(dK, hbm_.grad_k, key_rows(m, kv_head, {0, m.n_k}, problem_->d));
}

/// dBias = Σ_broadcast dS: one pass over dS.
void Standard::grad_bias(Sram& sram, const BiasTile& tile) const {
  Tile sum = sram.allocate("dbias", tile.queries.stored.size(), tile.keys.stored.size());
  sum.setZero();
  for (Index b = 0; b < problem_->members; ++b) {
    if (!tile.shared_by(problem_.member(b))) continue;
    const Member m = problem_.member(b);
    const Range tiles = tile.queries.tiles(m.first_q, m.n_q, standard_rows);
    for (Index h = tile.heads.first; h < tile.heads.last; ++h)
      for (Index i = tiles.first; i < tiles.last; ++i)
        add_broadcast(sram.load(dS_, pairs(m, h, tile_of(i, standard_rows, m.n_q))), sum);
  }
  sram.store(sum, hbm_.grad_bias, tile.stored());
}

}  // namespace

void standard_forward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                      const RunOptions&) {
  Tensors hbm = bind_forward(machine.hbm, problem, tensors);
  hbm.lse = {};
  Standard(machine, problem, hbm).forward();
}

void standard_forward_lse(Machine& machine, const AttentionProblem& problem,
                          const RunTensors& tensors, const RunOptions&) {
  Standard(machine, problem, bind_forward(machine.hbm, problem, tensors)).forward();
}

void standard_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                       const RunOptions&) {
  Standard standard(machine, problem, bind_backward(machine.hbm, problem, tensors));
  standard.forward();
  machine.forget();  // the forward pass that gives P is not counted
  standard.backward();
}

}  // namespace flashbook::io
