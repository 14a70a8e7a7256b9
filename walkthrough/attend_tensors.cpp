#include "walkthrough/attend_tensors.hpp"

#include <charconv>
#include <cmath>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace {

using Shape = std::vector<std::int64_t>;

/// Sizes of a [batch, tokens, heads, channels] tensor, whatever its layout and rank.
struct Sizes {
  std::int64_t batch, tokens, heads, channels;
};

DType parse_dtype(const std::string& text) {
  if (const auto dtype = dtype_called(text)) return *dtype;
  throw InputError("--dtype is '" + text + "': pass fp16, bf16, fp32 or fp64");
}

/// Without --dtype, that of --q.
DType dtype_of(const AttendRequest& request) {
  return request.dtype.empty() ? float_type("--q", request.q) : parse_dtype(request.dtype);
}

bool is_bhnd(const AttendRequest& request) {
  if (request.layout != "bnhd" && request.layout != "bhnd")
    throw InputError("--layout is '" + request.layout +
                     "': pass bnhd for [batch, tokens, heads, d] or bhnd for [batch, heads, "
                     "tokens, d]");
  return request.layout == "bhnd";
}

bool is_packed(const AttendRequest& request) {
  if (request.cu_seqlens_q.empty() != request.cu_seqlens_k.empty())
    throw InputError(
        std::string(request.cu_seqlens_q.empty() ? "--cu-seqlens-q" : "--cu-seqlens-k") +
        " is missing: packed sequences need both --cu-seqlens-q and --cu-seqlens-k");
  return !request.cu_seqlens_q.empty();
}

/// What else a tensor may be than one of four dimensions.
std::string other_shapes(const AttendRequest& request) {
  if (is_packed(request)) return " or, packed, [tokens, heads, d]";
  if (request.takes_matrices) return " or, one head of one sequence, [tokens, d]";
  return "; a packed [tokens, heads, d] needs --cu-seqlens-q and --cu-seqlens-k";
}

Sizes sizes_of(const std::string& flag, const Tensor& tensor, const AttendRequest& request) {
  const auto& shape = tensor.shape;
  const bool packed = is_packed(request), bhnd = is_bhnd(request);
  if (packed && shape.size() == 3) {
    if (bhnd)
      throw InputError(flag + " is " + shape_text(shape) +
                       ": packed tensors are [tokens, heads, d]; leave --layout bhnd out, or give "
                       "[1, heads, tokens, d]");
    return {1, shape[0], shape[1], shape[2]};
  }
  if (shape.size() != 4)
    throw InputError(flag + " is " + shape_text(shape) + ": it must be " +
                     (bhnd ? "[batch, heads, tokens, d]" : "[batch, tokens, heads, d]") +
                     other_shapes(request));
  if (bhnd) return {shape[0], shape[2], shape[1], shape[3]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

void require_equal(const std::string& flag, const std::string& what, std::int64_t size,
                   const std::string& other, std::int64_t expected) {
  if (size == expected) return;
  throw InputError(flag + " has " + std::to_string(size) + " " + what + " but " + other + " has " +
                   std::to_string(expected) +
                   ": they must agree; check the files, and --layout if tokens and heads are "
                   "swapped");
}

void require_shape(const std::string& flag, const Tensor& tensor,
                   const std::vector<std::int64_t>& shape, const std::string& meaning) {
  if (tensor.shape == shape) return;
  throw InputError(flag + " is " + shape_text(tensor.shape) + ": it must be " + meaning + " = " +
                   shape_text(shape));
}

void require_positive(const std::string& flag, const std::string& what, std::int64_t size) {
  if (size < 1)
    throw InputError(flag + " has " + std::to_string(size) + " " + what +
                     ": attention needs at least 1");
}

flashbook_problem problem_of(const Sizes& q, const Sizes& k, const Sizes& v, bool bhnd) {
  require_positive("--q", "heads", q.heads);
  require_positive("--k", "heads", k.heads);
  require_positive("--q", "channels", q.channels);
  require_positive("--v", "channels", v.channels);
  require_equal("--k", "batch entries", k.batch, "--q", q.batch);
  require_equal("--k", "channels", k.channels, "--q", q.channels);
  require_equal("--v", "batch entries", v.batch, "--k", k.batch);
  require_equal("--v", "tokens", v.tokens, "--k", k.tokens);
  require_equal("--v", "heads", v.heads, "--k", k.heads);
  if (q.heads % k.heads != 0)
    throw InputError("--q has " + std::to_string(q.heads) + " heads and --k " +
                     std::to_string(k.heads) +
                     ": the number of query heads must be a multiple of the number of key/value "
                     "heads; check --layout if tokens and heads are swapped");
  auto p = dense_problem(q.batch, q.heads, k.heads, q.tokens, k.tokens, q.channels, v.channels);
  if (bhnd) {
    p.q = p.grad_q = bhnd_strides(q.tokens, q.heads, q.channels);
    p.k = p.grad_k = bhnd_strides(k.tokens, k.heads, k.channels);
    p.v = p.grad_v = bhnd_strides(v.tokens, v.heads, v.channels);
    p.o = p.grad_o = bhnd_strides(q.tokens, q.heads, v.channels);
  }
  return p;
}

std::int32_t parse_alignment(const std::string& flag, const std::string& text) {
  if (text == "bottom-right") return FLASHBOOK_BOTTOM_RIGHT;
  if (text == "top-left") return FLASHBOOK_TOP_LEFT;
  throw InputError(flag + " is '" + text +
                   "': pass bottom-right (the last query sees the last key) or top-left (the first "
                   "query sees the first key)");
}

std::int64_t parse_window_side(const char* side, const std::string& text) {
  if (text == "inf") return unbounded;
  std::int64_t keys = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, keys);
  constexpr std::int64_t limit = std::int64_t{1} << 60;
  if (error != std::errc{} || rest != end || keys <= -limit || keys >= limit)
    throw InputError(std::string("--window's ") + side + " side is '" + text +
                     "': pass a whole number of keys between -2^60 and 2^60, or inf for no limit");
  return keys;
}

void set_mask(const AttendRequest& request, flashbook_problem& p) {
  if (!request.align.empty()) p.alignment = parse_alignment("--align", request.align);
  if (!request.causal.empty()) {
    const std::int32_t causal = parse_alignment("--causal", request.causal);
    if (!request.align.empty() && causal != p.alignment)
      throw InputError("--causal is " + request.causal + " and --align " + request.align +
                       ": a problem has one alignment; leave --align out");
    p.causal = 1;
    p.alignment = causal;
  }
  if (request.window) {
    p.window_left = parse_window_side("left", (*request.window)[0]);
    p.window_right = parse_window_side("right", (*request.window)[1]);
  }
}

std::string shown(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void set_score(const AttendRequest& request, flashbook_problem& p) {
  if (request.scale) p.scale = *request.scale;
  if (!std::isfinite(p.scale))
    throw InputError("--scale is " + shown(p.scale) +
                     ": pass a finite number, or leave it out for 1/sqrt(d)");
  if (!request.softcap) return;
  p.softcap = *request.softcap;
  if (!std::isfinite(p.softcap) || p.softcap <= 0)
    throw InputError("--softcap is " + shown(p.softcap) +
                     ": pass a finite number above 0, or leave it out for no cap");
}

/// Aligns the bias's shape to [B, H_q, N_q, N_k] from the right, as numpy broadcasts.
void set_bias(const Tensor& bias, flashbook_problem& p) {
  const std::int64_t full[4] = {p.batch, p.heads_q, p.n_q, p.n_k};
  std::array<std::int64_t, 4> shape = {1, 1, 1, 1};
  bool fits = bias.shape.size() <= 4;
  for (std::size_t axis = 0; fits && axis < bias.shape.size(); ++axis) {
    const std::size_t target = 4 - bias.shape.size() + axis;
    shape[target] = bias.shape[axis];
    fits = shape[target] == 1 || shape[target] == full[target];
  }
  if (!fits)
    throw InputError("--bias is " + shape_text(bias.shape) +
                     ": it must broadcast, as in numpy, to [B, H_q, N_q, N_k] = " +
                     shape_text({full, full + 4}));
  set_contiguous_bias(p, shape);
}

void set_alibi(const Tensor& slopes, flashbook_problem& p) {
  if (slopes.shape == std::vector<std::int64_t>{p.heads_q}) {
    p.alibi = FLASHBOOK_ALIBI_H;
  } else {
    require_shape("--alibi", slopes, {p.members, p.heads_q}, "[H_q] or [B, H_q]");
    p.alibi = FLASHBOOK_ALIBI_BH;
  }
}

/// Offsets are checked here so that errors name the flag; AttentionProblem checks the rest.
std::vector<std::int64_t> read_members(const std::string& flag, const std::string& file,
                                       std::int64_t tokens) {
  std::vector<std::int64_t> offsets = read_offsets(flag, file);
  if (offsets.empty() || offsets.front() != 0)
    throw InputError(flag +
                     (offsets.empty() ? std::string(" is empty")
                                      : " starts at " + std::to_string(offsets.front())) +
                     ": it must start with 0 and have one entry more than there are sequences");
  for (std::size_t b = 1; b < offsets.size(); ++b)
    if (offsets[b] < offsets[b - 1])
      throw InputError(flag + " decreases from " + std::to_string(offsets[b - 1]) + " to " +
                       std::to_string(offsets[b]) + " at entry " + std::to_string(b) +
                       ": token offsets must ascend");
  if (offsets.back() > tokens)
    throw InputError(flag + " ends at " + std::to_string(offsets.back()) +
                     " but its tensor holds " + std::to_string(tokens) +
                     " tokens: the last offset must not pass them");
  return offsets;
}

}  // namespace

Inputs AttendTensors::inputs() const {
  return {q.data(), k.data(), v.data(), bias.data(), alibi.data(), sinks.data()};
}

Cotangents AttendTensors::cotangents() const {
  return {grad_o.data(), dlse.data()};
}

AttendTensors load_tensors(const AttendRequest& request) {
  const DType dtype = dtype_of(request);
  const bool packed = is_packed(request), bhnd = is_bhnd(request);
  const auto read = [&](const std::string& flag, const std::string& file) {
    Tensor tensor = file.empty() ? Tensor{} : read_tensor(flag, file, dtype);
    if (request.takes_matrices && tensor.shape.size() == 2)
      tensor.shape = bhnd ? Shape{1, 1, tensor.shape[0], tensor.shape[1]}
                          : Shape{1, tensor.shape[0], 1, tensor.shape[1]};
    return tensor;
  };
  Tensor q = read("--q", request.q), k = read("--k", request.k), v = read("--v", request.v);
  if (k.shape.size() != q.shape.size() || v.shape.size() != q.shape.size())
    throw InputError("--q is " + shape_text(q.shape) + ", --k " + shape_text(k.shape) +
                     " and --v " + shape_text(v.shape) +
                     ": give all three with the same number of dimensions");
  const Sizes q_sizes = sizes_of("--q", q, request), k_sizes = sizes_of("--k", k, request),
              v_sizes = sizes_of("--v", v, request);
  flashbook_problem p = problem_of(q_sizes, k_sizes, v_sizes, bhnd);
  p.dtype = static_cast<std::int32_t>(dtype);
  set_mask(request, p);
  set_score(request, p);

  std::vector<std::int64_t> members_q, members_k;
  if (packed) {
    if (p.batch != 1)
      throw InputError("--q is " + shape_text(q.shape) +
                       ": with --cu-seqlens-q the batch dimension must be 1 or left out");
    members_q = read_members("--cu-seqlens-q", request.cu_seqlens_q, p.n_q);
    members_k = read_members("--cu-seqlens-k", request.cu_seqlens_k, p.n_k);
    if (members_k.size() != members_q.size())
      throw InputError("--cu-seqlens-k has " + std::to_string(members_k.size()) +
                       " entries and --cu-seqlens-q " + std::to_string(members_q.size()) +
                       ": both must have one more than there are sequences");
    p.packed = 1;
    p.members = static_cast<std::int64_t>(members_q.size()) - 1;
  }

  Tensor bias = read("--bias", request.bias), alibi = read("--alibi", request.alibi),
         sinks = read("--sinks", request.sinks), grad_o = read("--do", request.grad_o), dlse;
  if (!request.bias.empty()) set_bias(bias, p);
  if (!request.alibi.empty()) set_alibi(alibi, p);
  if (!request.sinks.empty()) {
    require_shape("--sinks", sinks, {p.heads_q}, "[H_q]");
    p.has_sinks = 1;
  }
  if (!request.grad_o.empty()) {
    std::vector<std::int64_t> shape = q.shape;
    shape.back() = p.d_v;
    require_shape("--do", grad_o, shape, "of O's shape");
  }
  if (!request.dlse.empty()) {
    if (request.grad_o.empty())
      throw InputError(
          "--dlse is given without --do: a backward pass needs --do; pass zeros if "
          "only the LSE has a gradient");
    dlse = read_tensor("--dlse", request.dlse, dtype == DType::fp64 ? dtype : DType::fp32);
    require_shape("--dlse", dlse, {p.batch, p.heads_q, p.n_q}, "[B, H_q, N_q]");
    p.has_dlse = 1;
  }
  return {AttentionProblem(p, std::move(members_q), std::move(members_k)),
          std::move(q),
          std::move(k),
          std::move(v),
          std::move(bias),
          std::move(alibi),
          std::move(sinks),
          std::move(grad_o),
          std::move(dlse)};
}

}  // namespace flashbook
