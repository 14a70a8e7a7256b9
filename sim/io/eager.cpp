#include "sim/io/eager.hpp"

namespace flashbook::io {
namespace {

EagerTensor reads(std::string_view name, bool square = false, Index element_bytes = 2) {
  return {name, square, false, element_bytes};
}
EagerTensor writes(std::string_view name, bool square = false, Index element_bytes = 2) {
  return {name, square, true, element_bytes};
}

constexpr bool square = true;
constexpr Index one_byte = 1;  // of dropout's mask: what was kept

std::vector<EagerPass> passes() {
  return {
      {"scores", "S = scale QKᵀ", false, {reads("Q"), reads("K"), writes("S", square)}},
      {"mask", "A = S + mask", false, {reads("S", square), writes("A", square)}},
      {"softmax", "P = softmax(A)", false, {reads("A", square), writes("P", square)}},
      {"dropout",
       "D = P ∘ kept / (1 − p)",
       false,
       {reads("P", square), writes("D", square), writes("kept", square, one_byte)}},
      {"values", "O = DV", false, {reads("D", square), reads("V"), writes("O")}},
      {"grad of values", "dV = DᵀdO", true, {reads("D", square), reads("dO"), writes("dV")}},
      {"grad of D", "dD = dO Vᵀ", true, {reads("dO"), reads("V"), writes("dD", square)}},
      {"grad of dropout",
       "dP = dD ∘ kept / (1 − p)",
       true,
       {reads("dD", square), reads("kept", square, one_byte), writes("dP", square)}},
      {"grad of softmax",
       "dS = P ∘ (dP − rowsum(P ∘ dP))",
       true,
       {reads("P", square), reads("dP", square), writes("dS", square)}},
      {"grad of queries", "dQ = scale dS K", true, {reads("dS", square), reads("K"), writes("dQ")}},
      {"grad of keys", "dK = scale dSᵀQ", true, {reads("dS", square), reads("Q"), writes("dK")}},
  };
}

}  // namespace

Index EagerPass::bytes(Index n, Index d, bool written) const {
  Index sum = 0;
  for (const EagerTensor& tensor : tensors)
    if (tensor.written == written) sum += tensor.bytes(n, d);
  return sum;
}

std::span<const EagerPass> eager_passes() {
  static const std::vector<EagerPass> all = passes();
  return all;
}

}  // namespace flashbook::io
