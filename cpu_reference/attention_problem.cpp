#include "cpu_reference/attention_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace {

// Sizes, strides and window sides stay below this, so that sums of two never overflow.
constexpr std::int64_t largest = std::int64_t{1} << 60;

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw InputError(otherwise);
}

void check_size(const char* field, std::int64_t value, std::int64_t least) {
  require(value >= least && value < largest,
          text(field, " is ", value, ": it must be at least ", least, " and below 2^60"));
}

void check_switch(const char* field, std::int32_t value) {
  require(value == 0 || value == 1, text(field, " is ", value, ": pass 1 (on) or 0 (off)"));
}

void check_header(const flashbook_problem& p) {
  require(p.size == sizeof(flashbook_problem) && p.version == FLASHBOOK_PROBLEM_VERSION,
          text("problem.size is ", p.size, " and problem.version ", p.version,
               ": this library knows size ", sizeof(flashbook_problem), ", version ",
               FLASHBOOK_PROBLEM_VERSION, "; recompile the caller against this problem.h"));
}

void check_sizes(const flashbook_problem& p) {
  check_size("batch (B)", p.batch, 0);
  check_size("n_q (N_q)", p.n_q, 0);
  check_size("n_k (N_k)", p.n_k, 0);
  check_size("heads_q (H_q)", p.heads_q, 1);
  check_size("heads_kv (H_kv)", p.heads_kv, 1);
  check_size("d", p.d, 1);
  check_size("d_v", p.d_v, 1);
  require(p.heads_q % p.heads_kv == 0,
          text("H_q is ", p.heads_q, " and H_kv is ", p.heads_kv,
               ": the number of query heads must be a multiple of the number of key/value heads; "
               "if a layout was swapped, tokens and heads may have changed places"));
}

/// Kernels compute in fp32, in fp64 problems in fp64; numbers must mean something there.
const char* computed_type(const flashbook_problem& p) {
  return p.dtype == FLASHBOOK_FP64 ? "fp64" : "fp32";
}

double in_computed_type(const flashbook_problem& p, double x) {
  return p.dtype == FLASHBOOK_FP64 ? x : static_cast<double>(static_cast<float>(x));
}

void check_options(const flashbook_problem& p) {
  require(p.dtype >= FLASHBOOK_FP16 && p.dtype <= FLASHBOOK_FP64,
          text("dtype is ", p.dtype, ": pass one of fp16, bf16, fp32, fp64"));
  require(p.alignment == FLASHBOOK_BOTTOM_RIGHT || p.alignment == FLASHBOOK_TOP_LEFT,
          text("alignment is ", p.alignment, ": pass bottom-right or top-left"));
  require(p.alibi >= FLASHBOOK_NO_ALIBI && p.alibi <= FLASHBOOK_ALIBI_BH,
          text("alibi is ", p.alibi, ": pass none, [H_q] or [B, H_q]"));
  check_switch("causal", p.causal);
  check_switch("packed", p.packed);
  check_switch("has_bias", p.has_bias);
  check_switch("has_sinks", p.has_sinks);
  check_switch("has_dlse", p.has_dlse);
  require(std::isfinite(in_computed_type(p, p.scale)),
          text("scale is ", p.scale, ": pass a number that is finite in ", computed_type(p)));
  const double softcap = in_computed_type(p, p.softcap);
  require(std::isfinite(softcap) && (softcap > 0) == (p.softcap != 0),
          text("softcap is ", p.softcap, ": pass a number that is finite and above 0 in ",
               computed_type(p), ", or 0 for no cap"));
}

void check_window_side(const char* field, std::int64_t side) {
  require(side == unbounded || (-largest < side && side < largest),
          text(field, " is ", side,
               ": pass a number of keys between -2^60 and 2^60, or unbounded (inf)"));
}

struct Dimension {
  std::int64_t size, stride;
};

bool is_empty(const std::vector<Dimension>& dimensions) {
  return std::any_of(dimensions.begin(), dimensions.end(),
                     [](const Dimension& dimension) { return dimension.size == 0; });
}

/// A strided tensor must lie within 2^60 elements of its start.
void check_reach(const std::string& tensor, const std::vector<Dimension>& dimensions) {
  if (is_empty(dimensions)) return;
  double reach = 0;  // rounding does not matter: the limit is far from both overflow and use
  for (const auto& [size, stride] : dimensions)
    reach += static_cast<double>(size - 1) * std::abs(static_cast<double>(stride));
  require(reach < static_cast<double>(largest),
          text("the strides of ", tensor,
               " reach 2^60 elements or more from its start: check sizes and "
               "strides, which are in elements"));
}

/// Two elements of an output must not share an address: each stride must step over all that the
/// smaller strides reach.
void check_disjoint(const std::string& tensor, std::vector<Dimension> dimensions) {
  if (is_empty(dimensions)) return;
  std::sort(dimensions.begin(), dimensions.end(), [](const Dimension& a, const Dimension& b) {
    return std::abs(a.stride) < std::abs(b.stride);
  });
  std::int64_t reach = 0;
  for (const auto& [size, stride] : dimensions) {
    if (size == 1) continue;  // its stride is never used
    require(std::abs(stride) > reach,
            text("the strides of output ", tensor, " make its elements overlap (stride ", stride,
                 " over ", size, " elements): give every output element an address of its own"));
    reach += (size - 1) * std::abs(stride);
  }
}

struct NamedTensor {
  const char* name;
  const flashbook_strides& strides;
  std::int64_t tokens, heads, channels;
  bool is_output;
};

void check_strides(const flashbook_problem& p) {
  const NamedTensor tensors[] = {
      {"q", p.q, p.n_q, p.heads_q, p.d, false},
      {"k", p.k, p.n_k, p.heads_kv, p.d, false},
      {"v", p.v, p.n_k, p.heads_kv, p.d_v, false},
      {"grad_o", p.grad_o, p.n_q, p.heads_q, p.d_v, false},
      {"o", p.o, p.n_q, p.heads_q, p.d_v, true},
      {"grad_q", p.grad_q, p.n_q, p.heads_q, p.d, true},
      {"grad_k", p.grad_k, p.n_k, p.heads_kv, p.d, true},
      {"grad_v", p.grad_v, p.n_k, p.heads_kv, p.d_v, true},
  };
  for (const NamedTensor& t : tensors) {
    const std::vector<Dimension> dimensions = {{p.batch, t.strides.batch},
                                               {t.tokens, t.strides.token},
                                               {t.heads, t.strides.head},
                                               {t.channels, 1}};
    check_reach(t.name, dimensions);
    if (t.is_output) check_disjoint(t.name, dimensions);
  }
}

void check_bias(const flashbook_problem& p) {
  if (!p.has_bias) return;
  static constexpr const char* axes[4] = {"batch", "head", "query", "key"};
  const std::int64_t full[4] = {p.batch, p.heads_q, p.n_q, p.n_k};
  std::vector<Dimension> dimensions;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    require(p.bias_shape[axis] == 1 || p.bias_shape[axis] == full[axis],
            text("the bias has ", p.bias_shape[axis], " along its ", axes[axis],
                 " axis: it must be 1 or ", full[axis],
                 " (it is broadcast to [B, H_q, N_q, N_k] as in numpy)"));
    dimensions.push_back({p.bias_shape[axis], p.bias_strides[axis]});
  }
  check_reach("bias", dimensions);
  double elements = 1;
  for (const Dimension& dimension : dimensions) elements *= static_cast<double>(dimension.size);
  require(elements < static_cast<double>(largest),
          "the bias has 2^60 elements or more, and so would its gradient: broadcast an axis of it");
}

void check_offsets(const char* field, const std::vector<std::int64_t>& offsets,
                   std::int64_t members, std::int64_t tokens) {
  require(
      static_cast<std::int64_t>(offsets.size()) == members + 1,
      text(field, " has ", offsets.size(), " entries: ", members, " members need ", members + 1));
  require(offsets.front() == 0,
          text(field, " starts at ", offsets.front(), ": its first entry must be 0"));
  for (std::size_t b = 1; b < offsets.size(); ++b)
    require(offsets[b] >= offsets[b - 1],
            text(field, " decreases from ", offsets[b - 1], " to ", offsets[b], " at entry ", b,
                 ": it must list token offsets in ascending order"));
  require(offsets.back() <= tokens,
          text(field, " ends at ", offsets.back(), " but the tensor holds ", tokens,
               " tokens: the last offset must not pass them"));
}

void check_packing(const flashbook_problem& p, const std::vector<std::int64_t>& cu_seqlens_q,
                   const std::vector<std::int64_t>& cu_seqlens_k) {
  if (!p.packed) {
    require(cu_seqlens_q.empty() && cu_seqlens_k.empty(),
            "cu_seqlens are given but packed is 0: set packed, or leave them out");
    require(p.members == p.batch, text("members is ", p.members, " and batch ", p.batch,
                                       ": they are equal unless the problem is packed"));
    return;
  }
  require(p.batch == 1, text("batch is ", p.batch, ": a packed problem has one batch entry"));
  check_size("members", p.members, 0);
  check_offsets("cu_seqlens_q", cu_seqlens_q, p.members, p.n_q);
  check_offsets("cu_seqlens_k", cu_seqlens_k, p.members, p.n_k);
}

}  // namespace

std::string_view name(Alignment alignment) {
  return alignment == Alignment::top_left ? "top-left" : "bottom-right";
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return "fp16";
    case DType::bf16:
      return "bf16";
    case DType::fp32:
      return "fp32";
    case DType::fp64:
      break;
  }
  return "fp64";
}

std::optional<DType> dtype_called(std::string_view wanted) {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32, DType::fp64})
    if (name(dtype) == wanted) return dtype;
  return std::nullopt;
}

flashbook_strides bnhd_strides(std::int64_t tokens, std::int64_t heads, std::int64_t channels) {
  return {tokens * heads * channels, heads * channels, channels};
}

flashbook_strides bhnd_strides(std::int64_t tokens, std::int64_t heads, std::int64_t channels) {
  return {heads * tokens * channels, channels, tokens * channels};
}

flashbook_problem dense_problem(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv,
                                std::int64_t n_q, std::int64_t n_k, std::int64_t d,
                                std::int64_t d_v) {
  flashbook_problem p = {};
  p.size = sizeof(flashbook_problem);
  p.version = FLASHBOOK_PROBLEM_VERSION;
  p.dtype = FLASHBOOK_FP32;
  p.batch = p.members = batch;
  p.n_q = n_q;
  p.n_k = n_k;
  p.heads_q = heads_q;
  p.heads_kv = heads_kv;
  p.d = d;
  p.d_v = d_v;
  p.q = p.grad_q = bnhd_strides(n_q, heads_q, d);
  p.k = p.grad_k = bnhd_strides(n_k, heads_kv, d);
  p.v = p.grad_v = bnhd_strides(n_k, heads_kv, d_v);
  p.o = p.grad_o = bnhd_strides(n_q, heads_q, d_v);
  p.scale = 1 / std::sqrt(static_cast<double>(d));
  p.window_left = p.window_right = FLASHBOOK_UNBOUNDED;
  return p;
}

void set_contiguous_bias(flashbook_problem& problem, const std::array<std::int64_t, 4>& shape) {
  problem.has_bias = 1;
  std::int64_t stride = 1;
  for (std::size_t axis = 4; axis-- > 0;) {
    problem.bias_shape[axis] = shape[axis];
    problem.bias_strides[axis] = stride;
    stride *= shape[axis];
  }
}

AttentionProblem::AttentionProblem(const flashbook_problem& fields,
                                   std::vector<std::int64_t> cu_seqlens_q,
                                   std::vector<std::int64_t> cu_seqlens_k)
    : fields_(fields),
      cu_seqlens_q_(std::move(cu_seqlens_q)),
      cu_seqlens_k_(std::move(cu_seqlens_k)) {
  check_header(fields_);
  check_sizes(fields_);
  check_options(fields_);
  check_window_side("window_left", fields_.window_left);
  check_window_side("window_right", fields_.window_right);
  check_strides(fields_);
  check_bias(fields_);
  check_packing(fields_, cu_seqlens_q_, cu_seqlens_k_);
}

Member AttentionProblem::member(std::int64_t index) const {
  Member m = {index, index, 0, 0, fields_.n_q, fields_.n_k, 0};
  if (fields_.packed) {
    const auto b = static_cast<std::size_t>(index);
    m = {index,
         0,
         cu_seqlens_q_[b],
         cu_seqlens_k_[b],
         cu_seqlens_q_[b + 1] - cu_seqlens_q_[b],
         cu_seqlens_k_[b + 1] - cu_seqlens_k_[b],
         0};
  }
  if (alignment() == Alignment::bottom_right) m.diagonal = m.n_k - m.n_q;
  return m;
}

bool AttentionProblem::is_masked() const {
  return fields_.causal || fields_.window_left != unbounded || fields_.window_right != unbounded;
}

bool AttentionProblem::visible(const Member& member, std::int64_t i, std::int64_t j) const {
  const std::int64_t diagonal = i + member.diagonal;
  if (fields_.causal && j > diagonal) return false;
  if (fields_.window_left != unbounded && j < diagonal - fields_.window_left) return false;
  if (fields_.window_right != unbounded && j > diagonal + fields_.window_right) return false;
  return true;
}

std::int64_t AttentionProblem::bias_size() const {
  if (!fields_.has_bias) return 0;
  return fields_.bias_shape[0] * fields_.bias_shape[1] * fields_.bias_shape[2] *
         fields_.bias_shape[3];
}

std::int64_t AttentionProblem::alibi_size() const {
  if (fields_.alibi == FLASHBOOK_NO_ALIBI) return 0;
  return fields_.heads_q * (fields_.alibi == FLASHBOOK_ALIBI_BH ? fields_.members : 1);
}

}  // namespace flashbook
