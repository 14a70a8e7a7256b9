#include "cuda/rules/refusal.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace flashbook {
namespace {

// Blocks of a grid, none without a row of its own, are at most 2^31 - 1: CUDA C++ Programming
// Guide, "Compute Capabilities".
constexpr std::int64_t most_rows = INT32_MAX;

/// Rows of all heads, at least one a head; the largest number if they are too many to count.
std::int64_t rows(std::int64_t batch, std::int64_t heads, std::int64_t n) {
  if (n == 0) n = 1;
  const double rounded =
      static_cast<double>(batch) * static_cast<double>(heads) * static_cast<double>(n);
  return rounded < 0x1p62 ? batch * heads * n : INT64_MAX;
}

// The widest tile (tile_width), and what sums of ranges allow (most_tokens in visible.cuh).
constexpr std::int64_t most_channels = 256, most_tokens = 1 << 29;

std::string too_large(const char* name, std::int64_t value, std::int64_t most) {
  if (value <= most) return {};
  return std::string(name) + " is " + std::to_string(value) + ": this kernel takes up to " +
         std::to_string(most) + "; use another implementation (see list)";
}

std::string not_taken(bool used, const std::string& field, const char* accepted) {
  if (!used) return {};
  return field + ": this kernel takes none; " + accepted +
         " or use another implementation (see list)";
}

/// A side of the window as the command line has it.
std::string side(std::int64_t keys) {
  return keys == FLASHBOOK_UNBOUNDED ? "inf" : std::to_string(keys);
}

std::string shape_of_bias(const flashbook_problem& p) {
  std::string shape;
  for (const std::int64_t size : p.bias_shape)
    shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  return "[" + shape + "]";
}

std::string bias_refusal(const flashbook_problem& p) {
  return not_taken(p.has_bias, "bias is of shape " + shape_of_bias(p), "leave it out");
}
std::string alibi_refusal(const flashbook_problem& p) {
  const bool of_heads = p.alibi == FLASHBOOK_ALIBI_H;
  return not_taken(p.alibi != FLASHBOOK_NO_ALIBI,
                   std::string("alibi is of shape ") + (of_heads ? "[H_q]" : "[B, H_q]"),
                   "leave it out");
}

std::string number(double x) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%g", x);
  return text.data();
}

/// Code for sm_90a runs on devices of compute capability 9.0 alone: PTX ISA, ".target".
std::string device_refusal(int capability) {
  if (capability == 0 || capability == 90) return {};
  return "the device is sm_" + std::to_string(capability) +
         ": this kernel needs sm_90a; run it on the emulator (--on cpu) or on a Hopper GPU, or use "
         "another implementation (see list)";
}

/// A stride as TMA's descriptor holds it: CUDA driver API, cuTensorMapEncodeTiled.
bool tma_takes(std::int64_t size, std::int64_t stride) {
  constexpr std::int64_t chunk = 8, most = std::int64_t{1} << 39;  // 16 bytes, 2^40 bytes
  return size <= 1 || (stride > 0 && stride < most && stride % chunk == 0);
}

std::string tma_refusal(const char* name, const flashbook_strides& s, std::int64_t batch,
                        std::int64_t tokens, std::int64_t heads) {
  const bool is_empty = batch == 0 || tokens == 0 || heads == 0;  // nothing is copied then
  if (is_empty ||
      (tma_takes(batch, s.batch) && tma_takes(tokens, s.token) && tma_takes(heads, s.head)))
    return {};
  return std::string("strides of ") + name + " are " + std::to_string(s.batch) + ", " +
         std::to_string(s.token) + ", " + std::to_string(s.head) +
         " (batch, token, head): this kernel's copies take positive multiples of 8 elements; pass "
         "such strides or use another implementation (see list)";
}

std::string tma_refusal(const flashbook_problem& p) {
  for (const std::string& refusal : {tma_refusal("q", p.q, p.batch, p.n_q, p.heads_q),
                                     tma_refusal("k", p.k, p.batch, p.n_k, p.heads_kv),
                                     tma_refusal("v", p.v, p.batch, p.n_k, p.heads_kv)})
    if (!refusal.empty()) return refusal;
  return {};
}

std::string dtype_refusal(int dtype, bool only_16_bit) {
  if (dtype == FLASHBOOK_FP64) return "dtype is fp64: this kernel takes fp32, fp16 and bf16";
  if (dtype == FLASHBOOK_FP32 && only_16_bit)
    return "dtype is fp32: this kernel uses 16-bit tensor cores; pass fp16 or bf16";
  return {};
}

}  // namespace

std::string size_refusal(const flashbook_problem& p, bool only_16_bit) {
  for (const std::string& refusal :
       {dtype_refusal(p.dtype, only_16_bit), too_large("d", p.d, most_channels),
        too_large("d_v", p.d_v, most_channels), too_large("n_q", p.n_q, most_tokens),
        too_large("n_k", p.n_k, most_tokens),
        too_large("batch * heads_q * n_q", rows(p.batch, p.heads_q, p.n_q), most_rows),
        too_large("batch * heads_kv * n_k", rows(p.batch, p.heads_kv, p.n_k), most_rows)})
    if (!refusal.empty()) return refusal;
  return {};
}

std::string rung_refusal(const flashbook_problem& p, bool only_16_bit) {
  const bool has_window =
      p.window_left != FLASHBOOK_UNBOUNDED || p.window_right != FLASHBOOK_UNBOUNDED;
  for (const std::string& refusal :
       {size_refusal(p, only_16_bit),
        not_taken(p.packed, "cu_seqlens are of " + std::to_string(p.members) + " members",
                  "pass a dense batch"),
        not_taken(has_window, "window is " + side(p.window_left) + ", " + side(p.window_right),
                  "leave both sides unbounded"),
        not_taken(p.softcap > 0, "softcap is " + number(p.softcap), "pass 0"), bias_refusal(p),
        alibi_refusal(p),
        not_taken(p.has_sinks, "sinks are " + std::to_string(p.heads_q) + " logits",
                  "leave them out")})
    if (!refusal.empty()) return refusal;
  return {};
}

std::string hopper_rung_refusal(const flashbook_problem& p, int capability) {
  for (const std::string& refusal :
       {device_refusal(capability), rung_refusal(p, true), tma_refusal(p)})
    if (!refusal.empty()) return refusal;
  return {};
}

std::string hopper_product_refusal(const flashbook_problem& p, int capability) {
  for (const std::string& refusal : {device_refusal(capability), size_refusal(p, true),
                                     bias_refusal(p), alibi_refusal(p), tma_refusal(p)})
    if (!refusal.empty()) return refusal;
  return {};
}

std::string shared_memory_refusal(const flashbook_problem& p, std::size_t needed,
                                  std::size_t available) {
  if (needed <= available) return {};
  const bool d_is_larger = p.d >= p.d_v;
  return std::string(d_is_larger ? "d is " : "d_v is ") +
         std::to_string(d_is_larger ? p.d : p.d_v) + ": a block of this kernel then needs " +
         std::to_string(needed) + " bytes of shared memory, and this device has " +
         std::to_string(available) +
         "; pass a smaller one or use another implementation (see list)";
}

}  // namespace flashbook
