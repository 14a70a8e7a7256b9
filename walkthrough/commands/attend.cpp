#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/attend_tensors.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/output_folder.hpp"
#include "walkthrough/text_width.hpp"

namespace flashbook {
namespace {

struct AttendFlags {
  AttendRequest request;
  std::string out, implementation;
  std::vector<std::string> window;
  const CLI::Option* causal = nullptr;
};

/// What attend writes; gradients stay empty without --do.
struct AttendResults {
  Tensor o, lse, dq, dk, dv, dbias, dsinks;
};

std::unique_ptr<Implementation> choose(const std::string& wanted, DType dtype) {
  if (!wanted.empty()) return find_implementation(wanted);
  return find_implementation(dtype == DType::fp64 ? "oracle" : "io.fa2");
}

void require_support(const Implementation& implementation, const AttentionProblem& problem,
                     bool backward) {
  Support support = implementation.supports_forward(problem);
  if (support && backward) support = implementation.supports_backward(problem);
  if (!support)
    throw InputError("--impl " + implementation.name() +
                     " does not take this problem: " + support.reason());
}

AttendResults allocate(const AttendTensors& in, bool backward) {
  const auto& p = in.problem.fields();
  const std::int64_t bytes = bytes_of(in.problem.dtype());
  AttendResults out;
  std::vector<std::int64_t> o_shape = in.q.shape;
  o_shape.back() = p.d_v;
  out.o = make_tensor(o_shape, bytes);
  out.lse = make_tensor({p.batch, p.heads_q, p.n_q}, lse_bytes_of(in.problem.dtype()));
  if (!backward) return out;
  out.dq = make_tensor(in.q.shape, bytes);
  out.dk = make_tensor(in.k.shape, bytes);
  out.dv = make_tensor(in.v.shape, bytes);
  if (p.has_bias) out.dbias = make_tensor(in.bias.shape, bytes);
  if (p.has_sinks) out.dsinks = make_tensor(in.sinks.shape, bytes);
  return out;
}

AttendResults compute(const Implementation& implementation, const AttendTensors& in,
                      bool backward) {
  AttendResults out = allocate(in, backward);
  const Outputs outputs = {out.o.data(), out.lse.data()};
  implementation.forward(in.problem, in.inputs(), outputs);
  if (backward)
    implementation.backward(
        in.problem, in.inputs(), outputs, in.cotangents(),
        {out.dq.data(), out.dk.data(), out.dv.data(), out.dbias.data(), out.dsinks.data()});
  return out;
}

std::vector<OutputFolder::File> files_of(const AttendTensors& in, const AttendResults& out,
                                         bool backward) {
  const DType dtype = in.problem.dtype();
  std::vector<OutputFolder::File> files = {
      {"o.npy", to_npy(out.o, dtype)},
      {"lse.npy", to_npy(out.lse, dtype == DType::fp64 ? dtype : DType::fp32)}};
  if (!backward) return files;
  files.push_back({"dq.npy", to_npy(out.dq, dtype)});
  files.push_back({"dk.npy", to_npy(out.dk, dtype)});
  files.push_back({"dv.npy", to_npy(out.dv, dtype)});
  if (in.problem->has_bias) files.push_back({"dbias.npy", to_npy(out.dbias, dtype)});
  if (in.problem->has_sinks) files.push_back({"dsinks.npy", to_npy(out.dsinks, dtype)});
  return files;
}

/// Says how the files were understood: a swapped layout shows here.
std::string describe(const AttentionProblem& problem, const Implementation& implementation) {
  const flashbook_problem& p = problem.fields();
  std::ostringstream text;
  text << implementation.name() << ", " << name(problem.dtype()) << ": B = " << p.batch
       << ", H_q = " << p.heads_q << ", H_kv = " << p.heads_kv << ", N_q = " << p.n_q
       << ", N_k = " << p.n_k << ",\n  d = " << p.d << ", d_v = " << p.d_v << ", scale " << p.scale;
  if (p.packed) text << ", " << p.members << " packed sequences";
  if (p.causal) text << ", causal " << name(problem.alignment());
  return text.str();
}

void attend(AttendFlags& flags) {
  if (flags.causal->count() > 0 && flags.request.causal.empty())
    flags.request.causal = "bottom-right";
  if (!flags.window.empty()) flags.request.window = {flags.window[0], flags.window[1]};
  const bool backward = !flags.request.grad_o.empty();
  if (!flags.implementation.empty()) find_implementation(flags.implementation);  // names first
  const AttendTensors in = load_tensors(flags.request);
  const auto implementation = choose(flags.implementation, in.problem.dtype());
  require_support(*implementation, in.problem, backward);
  const OutputFolder folder("--out", flags.out);
  const AttendResults out = compute(*implementation, in, backward);
  const std::vector<std::string> files = folder.write(files_of(in, out, backward));
  std::cout << wrapped(describe(in.problem, *implementation), 2);
  for (const std::string& file : files) std::cout << file << '\n';
}

void add_tensors(CLI::App& verb, AttendRequest& request) {
  verb.add_option("--q", request.q, "queries, .npy")->required();
  verb.add_option("--k", request.k, "keys, .npy")->required();
  verb.add_option("--v", request.v, "values, .npy")->required();
  verb.add_option("--do", request.grad_o, "gradient of O, .npy: also run the backward pass");
  verb.add_option("--dlse", request.dlse, "gradient of the LSE, [B, H_q, N_q]");
  verb.add_option("--bias", request.bias, "added to the scores, broadcast to [B, H_q, N_q, N_k]");
  verb.add_option("--alibi", request.alibi, "ALiBi slopes, [H_q] or [B, H_q]");
  verb.add_option("--sinks", request.sinks, "sink logits, [H_q]");
  verb.add_option("--cu-seqlens-q", request.cu_seqlens_q, "offsets of packed queries, int32/int64");
  verb.add_option("--cu-seqlens-k", request.cu_seqlens_k, "offsets of packed keys, int32/int64");
}

void add_options(CLI::App& verb, AttendFlags& flags) {
  AttendRequest& request = flags.request;
  verb.add_option("--out", flags.out, "folder for o.npy, lse.npy, dq.npy …")->required();
  verb.add_option("--impl", flags.implementation,
                  "see 'flashbook list' (default io.fa2; oracle for fp64)");
  verb.add_option("--layout", request.layout, "bnhd or bhnd")->capture_default_str();
  verb.add_option("--dtype", request.dtype,
                  "fp16, bf16, fp32 or fp64: inputs are rounded to it (default: that of --q)");
  verb.add_option("--scale", request.scale, "of q·k (default 1/sqrt(d))");
  flags.causal = verb.add_option("--causal", request.causal,
                                 "hide later keys: bottom-right (also if alone) or top-left")
                     ->expected(0, 1)
                     ->type_name("ALIGNMENT");
  verb.add_option("--align", request.align,
                  "diagonal of --window and --alibi without --causal (default bottom-right)");
  verb.add_option("--window", flags.window, "keys seen left and right of the diagonal, or inf")
      ->type_name("L R")
      ->expected(2);
  verb.add_option("--softcap", request.softcap, "s = cap·tanh(s/cap)");
}

}  // namespace

void add_attend(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("attend", "attention on your own .npy tensors");
  auto flags = std::make_shared<AttendFlags>();
  add_tensors(*verb, flags->request);
  add_options(*verb, *flags);
  verb->callback([flags] { attend(*flags); });
}

}  // namespace flashbook
