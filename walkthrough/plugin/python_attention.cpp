#include "walkthrough/plugin/python_attention.hpp"

#include <array>
#include <cstring>
#include <set>
#include <stdexcept>

#include "cuda/api/plugin.h"
#include "tests/conformance/support.hpp"
#include "walkthrough/plugin/refused.hpp"

namespace flashbook::plugin {
namespace {

using json = nlohmann::json;

/// Calls f(offset) for each element in logical order, the offset in elements.
template <class F>
void for_each_element(const std::array<std::int64_t, 4>& n, const std::array<std::int64_t, 4>& s,
                      F&& f) {
  for (std::int64_t a = 0; a < n[0]; ++a)
    for (std::int64_t b = 0; b < n[1]; ++b)
      for (std::int64_t c = 0; c < n[2]; ++c)
        for (std::int64_t d = 0; d < n[3]; ++d) f(a * s[0] + b * s[1] + c * s[2] + d * s[3]);
}

std::int64_t item_bytes(const std::string& dtype) {
  return dtype == "int64" ? 8 : bytes_of(*dtype_called(dtype));
}

std::array<std::int64_t, 4> contiguous(const std::array<std::int64_t, 4>& n) {
  return {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
}

/// [B, N, H, channels], as the strides say.
std::array<std::int64_t, 4> strides_of(const flashbook_strides& s) {
  return {s.batch, s.token, s.head, 1};
}

json numbers_of(const flashbook_problem& p) {
  const auto side = [](std::int64_t width) { return width == unbounded ? json() : json(width); };
  return {{"dtype", name(static_cast<DType>(p.dtype))},
          {"causal", p.causal == 1},
          {"top_left", p.alignment == FLASHBOOK_TOP_LEFT},
          {"window_left", side(p.window_left)},
          {"window_right", side(p.window_right)},
          {"scale", p.scale},
          {"softcap", p.softcap > 0 ? json(p.softcap) : json()},
          {"group", p.heads_q / p.heads_kv},
          {"batch", p.batch},
          {"n_q", p.n_q},
          {"n_k", p.n_k},
          {"heads_q", p.heads_q},
          {"heads_kv", p.heads_kv},
          {"d", p.d},
          {"d_v", p.d_v}};
}

/// Throws InputError for a word that is no option: it would be a silent refusal.
void check_takes(const std::string& path, const json& words) {
  std::string options;
  std::set<json> known;
  for (int bit = 0; const char* option = flashbook_option_name(bit); ++bit) {
    known.insert(option);
    options += (bit > 0 ? ", " : "") + std::string(option);
  }
  for (const json& word : words)
    if (known.count(word) == 0)
      throw refused(path, "takes has '" + word.get<std::string>() +
                              "', which is no option: there are " + options);
}

}  // namespace

PythonAttention::PythonAttention(const std::string& path) : python_(path) {
  says_ = python_.receive_line();
  if (says_.contains("error")) throw refused(path, says_["error"]);
  check_takes(path, says_["takes"]);
}

Properties PythonAttention::properties() const {
  const json& given = says_["properties"];
  Properties properties;
  properties.materialised = given.value("materialised", false);
  properties.eps_exp = given.value("eps_exp", properties.eps_exp);
  properties.eps_tanh = given.value("eps_tanh", properties.eps_tanh);
  properties.deterministic_dq = given.value("deterministic_dq", true);
  properties.deterministic_dkv = given.value("deterministic_dkv", true);
  if (given.contains("nan_tile"))
    properties.nan_spreads_within = TileShape{given["nan_tile"][0], given["nan_tile"][1]};
  return properties;
}

Support PythonAttention::support(const char* pass, const AttentionProblem& problem) const {
  if (!says_[pass]) return Support::no(std::string("the module has no function ") + pass);
  const auto takes = says_["takes"].get<std::set<std::string>>();
  for (std::string_view option : conformance::options_of(problem)) {
    // Strides end here, and a forward pass is given no dLSE.
    if (option == "strided" || (option == "dlse" && pass == std::string("forward"))) continue;
    if (takes.count(std::string(option)) == 0)
      return Support::no(std::string(option) + ": this module does not take it");
  }
  return Support::yes();
}

Support PythonAttention::supports_forward(const AttentionProblem& problem) const {
  return support("forward", problem);
}

Support PythonAttention::supports_backward(const AttentionProblem& problem) const {
  return support("backward", problem);
}

std::vector<PythonAttention::Tensor> PythonAttention::read_by(const AttentionProblem& problem,
                                                              const Inputs& in) const {
  const flashbook_problem& p = problem.fields();
  const std::string dtype(flashbook::name(problem.dtype()));
  const auto read = [](const void* data) { return const_cast<void*>(data); };
  std::vector<Tensor> tensors = {
      {"q", dtype, {p.batch, p.n_q, p.heads_q, p.d}, strides_of(p.q), read(in.q)},
      {"k", dtype, {p.batch, p.n_k, p.heads_kv, p.d}, strides_of(p.k), read(in.k)},
      {"v", dtype, {p.batch, p.n_k, p.heads_kv, p.d_v}, strides_of(p.v), read(in.v)}};
  const auto add = [&](const char* name, const std::string& type,
                       const std::array<std::int64_t, 4>& sizes, const void* data) {
    tensors.push_back({name, type, sizes, contiguous(sizes), read(data)});
  };
  if (p.has_bias)
    tensors.push_back(
        {"bias", dtype, std::to_array(p.bias_shape), std::to_array(p.bias_strides), read(in.bias)});
  if (p.alibi != FLASHBOOK_NO_ALIBI)
    add("alibi", dtype, {1, 1, problem.alibi_size() / p.heads_q, p.heads_q}, in.alibi);
  if (p.has_sinks) add("sinks", dtype, {1, 1, 1, p.heads_q}, in.sinks);
  if (p.packed) {
    add("cu_seqlens_q", "int64", {1, 1, 1, p.members + 1}, problem.cu_seqlens_q().data());
    add("cu_seqlens_k", "int64", {1, 1, 1, p.members + 1}, problem.cu_seqlens_k().data());
  }
  return tensors;
}

void PythonAttention::forward(const AttentionProblem& problem, const Inputs& inputs,
                              const Outputs& outputs) const {
  const flashbook_problem& p = problem.fields();
  const std::string dtype(flashbook::name(problem.dtype()));
  const std::string lse_type = problem.dtype() == DType::fp64 ? "fp64" : "fp32";
  const std::array<std::int64_t, 4> rows = {1, p.batch, p.heads_q, p.n_q};
  const Tensor wanted[] = {
      {"O", dtype, {p.batch, p.n_q, p.heads_q, p.d_v}, strides_of(p.o), outputs.o},
      {"LSE", lse_type, rows, contiguous(rows), outputs.lse}};
  call("forward", problem, read_by(problem, inputs), wanted);
}

void PythonAttention::backward(const AttentionProblem& problem, const Inputs& inputs,
                               const Outputs& saved, const Cotangents& cotangents,
                               const Gradients& gradients) const {
  const flashbook_problem& p = problem.fields();
  const std::string dtype(flashbook::name(problem.dtype()));
  const std::string lse_type = problem.dtype() == DType::fp64 ? "fp64" : "fp32";
  const std::array<std::int64_t, 4> rows = {1, p.batch, p.heads_q, p.n_q};
  const std::array<std::int64_t, 4> as_O = {p.batch, p.n_q, p.heads_q, p.d_v};
  std::vector<Tensor> sent = read_by(problem, inputs);
  sent.push_back({"o", dtype, as_O, strides_of(p.o), saved.o});
  sent.push_back({"lse", lse_type, rows, contiguous(rows), saved.lse});
  sent.push_back({"grad_o", dtype, as_O, strides_of(p.grad_o), const_cast<void*>(cotangents.o)});
  if (p.has_dlse)
    sent.push_back(
        {"grad_lse", lse_type, rows, contiguous(rows), const_cast<void*>(cotangents.lse)});
  std::vector<Tensor> wanted = {{"dQ", dtype, sent[0].sizes, strides_of(p.grad_q), gradients.q},
                                {"dK", dtype, sent[1].sizes, strides_of(p.grad_k), gradients.k},
                                {"dV", dtype, sent[2].sizes, strides_of(p.grad_v), gradients.v}};
  const std::array<std::int64_t, 4> of_bias = std::to_array(p.bias_shape),
                                    heads = {1, 1, 1, p.heads_q};
  if (p.has_bias) wanted.push_back({"dBias", dtype, of_bias, contiguous(of_bias), gradients.bias});
  if (p.has_sinks) wanted.push_back({"dSinks", dtype, heads, contiguous(heads), gradients.sinks});
  call("backward", problem, sent, wanted);
}

void PythonAttention::call(const char* pass, const AttentionProblem& problem,
                           std::span<const Tensor> sent, std::span<const Tensor> wanted) const {
  json header = {{"pass", pass}, {"problem", numbers_of(problem.fields())}};
  std::string bytes;
  for (const Tensor& t : sent) {
    header["sent"].push_back({{"name", t.name}, {"dtype", t.dtype}, {"shape", t.sizes}});
    const std::int64_t item = item_bytes(t.dtype);
    for_each_element(t.sizes, t.strides, [&](std::int64_t offset) {
      bytes.append(static_cast<const char*>(t.data) + offset * item,
                   static_cast<std::size_t>(item));
    });
  }
  for (const Tensor& t : wanted)
    header["wanted"].push_back({{"name", t.name}, {"dtype", t.dtype}, {"shape", t.sizes}});
  python_.send(header.dump() + "\n" + bytes);

  const json answer = python_.receive_line();
  if (answer.contains("error")) throw PythonError(answer["error"], answer["frames"]);
  for (const Tensor& t : wanted) {
    const auto item = static_cast<std::size_t>(item_bytes(t.dtype));
    const auto elements =
        static_cast<std::size_t>(t.sizes[0] * t.sizes[1] * t.sizes[2] * t.sizes[3]);
    const std::string result = python_.receive(elements * item);
    const char* from = result.data();
    for_each_element(t.sizes, t.strides, [&](std::int64_t offset) {
      std::memcpy(static_cast<char*>(t.data) + offset * static_cast<std::int64_t>(item), from,
                  item);
      from += item;
    });
  }
}

}  // namespace flashbook::plugin
