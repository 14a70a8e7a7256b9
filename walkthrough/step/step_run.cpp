#include "walkthrough/step/step_run.hpp"

#include <algorithm>
#include <random>
#include <regex>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/numbers.hpp"

namespace flashbook::step {
namespace {

using Numbers = std::vector<float>;

/// A tensor that `next()` fills, rounded to the type.
template <class Next>
Tensor filled(std::vector<std::int64_t> shape, DType dtype, const Next& next) {
  Tensor tensor = make_tensor(std::move(shape), bytes_of(dtype));
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    T* data = static_cast<T*>(tensor.data());
    const std::size_t elements = tensor.bytes.size() / sizeof(T);
    for (std::size_t i = 0; i < elements; ++i) data[i] = round_to<T>(next());
  });
  return tensor;
}

Tensor tensor_of(const Numbers& numbers, DType dtype) {
  std::size_t i = 0;
  return filled({1, 4, 1, 2}, dtype, [&] { return numbers[i++]; });
}

Tensor random_tensor(std::vector<std::int64_t> shape, DType dtype, std::mt19937& random) {
  std::normal_distribution<float> normal;
  return filled(std::move(shape), dtype, [&] { return normal(random); });
}

/// dO, of O's shape.
Tensor random_cotangent(const AttentionProblem& p, const Tensor& q, std::mt19937& random) {
  std::vector<std::int64_t> shape = q.shape;
  shape.back() = p->d_v;
  return random_tensor(std::move(shape), p.dtype(), random);
}

/// Errors name a tensor by the flag that it has in `attend`; here one flag has them all.
AttendTensors load(const AttendRequest& request) {
  try {
    return load_tensors(request);
  } catch (const InputError& error) {
    std::string text = error.what();
    for (const auto& [flag, tensor] :
         {std::pair{"--q", "Q"}, {"--k", "K"}, {"--v", "V"}, {"--do", "dO"}})
      text = std::regex_replace(text, std::regex(std::string(flag) + "\\b"), tensor);
    throw InputError("--input: " + text);
  }
}

// ---- what is kept

constexpr Index most_numbers = Index{1} << 26;

/// Numbers that the steps of a run show, roughly.
double shown_numbers(const AttentionProblem& p, const io::Blocks& blocks, double tiles) {
  const double rows = static_cast<double>(blocks.rows),
               columns = static_cast<double>(blocks.columns);
  return tiles * (6 * rows * columns + 3 * (rows + columns) * static_cast<double>(p->d + p->d_v));
}

struct Results {
  Tensor o, lse, dq, dk, dv;
};

Results allocate(const AttendTensors& in) {
  const AttentionProblem& p = in.problem;
  std::vector<std::int64_t> o_shape = in.q.shape;
  o_shape.back() = p->d_v;
  const std::int64_t bytes = bytes_of(p.dtype());
  return {make_tensor(o_shape, bytes), make_tensor({p->batch, p->heads_q, p->n_q}, 4),
          make_tensor(in.q.shape, bytes), make_tensor(in.k.shape, bytes),
          make_tensor(in.v.shape, bytes)};
}

std::size_t index_of(const std::vector<io::TensorTraffic>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const io::TensorTraffic& t) { return t.name == name; });
  return static_cast<std::size_t>(found - tensors.begin());
}

void sum_up(StepRun& run) {
  std::vector<io::Counts> sum(run.report.tensors.size());
  for (Index at = 0; at < run.size(); ++at) {
    const std::vector<io::Counts> moved = run.moved_by(at);
    for (std::size_t t = 0; t < sum.size(); ++t) sum[t] += moved[t];
    run.so_far.push_back(sum);
  }
}

}  // namespace

void check_steppable(const io::Algorithm& algorithm, const AttentionProblem& p,
                     const io::Schedule& schedule) {
  const bool blocked = algorithm.takes.blocks;
  const io::Blocks blocks = blocked ? schedule.blocks : io::Blocks{p->n_q, p->n_k};
  const double tiles = static_cast<double>(
      blocked ? closed_form(algorithm, p, schedule).visited_tiles : p->batch * p->heads_q);
  if (tiles <= most_tiles && shown_numbers(p, blocks, tiles) <= most_numbers) return;
  throw InputError("the run (--n, --d, --br, --bc) visits tiles of " + text_of(blocks) + ", " +
                   short_number(tiles) +
                   " of them: pass fewer tokens, or tiles of which there are "
                   "at most " +
                   std::to_string(most_tiles) + " with " + std::to_string(most_numbers) +
                   " numbers to show");
}

std::vector<io::Counts> StepRun::moved_by(Index at) const {
  std::vector<io::Counts> moved(report.tensors.size());
  for (const io::Step::Move& move : (*this)[at].moves)
    moved[index_of(report.tensors, move.tensor)] += move.counts();
  return moved;
}

std::string StepRun::about() const {
  const AttentionProblem& p = problem();
  std::string text = "N = " + std::to_string(p->n_q);
  if (p->n_k != p->n_q)
    text = "N_q = " + std::to_string(p->n_q) + ", N_k = " + std::to_string(p->n_k);
  text += ", d = " + std::to_string(p->d);
  if (p->batch != 1) text += ", B = " + std::to_string(p->batch);
  if (p->heads_q != 1) text += ", H = " + std::to_string(p->heads_q);
  text += ", " + std::string(name(p.dtype()));
  if (p->causal) text += ", causal";
  if (algorithm->takes.blocks) text += ", tiles of S " + text_of(schedule.blocks);
  if (schedule.splits > 1) text += ", " + std::to_string(schedule.splits) + " splits";
  return text + "; " + subject.source;
}

Subject worked_example(DType dtype, bool causal) {
  flashbook_problem p = dense_problem(1, 1, 1, 4, 4, 2, 2);
  p.scale = 1;
  p.dtype = static_cast<std::int32_t>(dtype);
  p.causal = causal;
  return {"four tokens, scale 1",
          {AttentionProblem(p),
           tensor_of({1, 0, 0, 1, 1, -1, -1, 2}, dtype),
           tensor_of({3, 1, 5, 0, 10, 2, 2, 1}, dtype),
           tensor_of({1, 0, 0, 1, 2, 2, -1, 3}, dtype),
           {},
           {},
           {},
           tensor_of({1, 0, 0, 1, 1, 1, 2, -1}, dtype),
           {}}};
}

Subject random_subject(const AttentionProblem& problem, Index seed) {
  const flashbook_problem& p = problem.fields();
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  const auto of = [&](Index tokens, Index heads, Index channels) {
    return random_tensor({p.batch, tokens, heads, channels}, problem.dtype(), random);
  };
  Tensor q = of(p.n_q, p.heads_q, p.d), k = of(p.n_k, p.heads_kv, p.d);
  Tensor v = of(p.n_k, p.heads_kv, p.d_v), grad_o = of(p.n_q, p.heads_q, p.d_v);
  return {"random numbers, seed " + std::to_string(seed),
          {problem, std::move(q), std::move(k), std::move(v), {}, {}, {}, std::move(grad_o), {}}};
}

Subject subject_of_files(const std::vector<std::string>& files, AttendRequest request) {
  if (files.size() != 1 && files.size() != 3 && files.size() != 4)
    throw InputError("--input has " + std::to_string(files.size()) +
                     " files: pass one that is Q, K and V, or three for Q, K and V, or a fourth "
                     "for dO");
  request.q = files[0];
  request.k = files[files.size() == 1 ? 0 : 1];
  request.v = files[files.size() == 1 ? 0 : 2];
  if (files.size() == 4) request.grad_o = files[3];
  request.takes_matrices = true;
  if (request.dtype.empty() && float_type("--input", request.q) == DType::fp64)
    request.dtype = "fp32";
  AttendTensors tensors = load(request);
  std::mt19937 random(1);
  if (files.size() < 4) tensors.grad_o = random_cotangent(tensors.problem, tensors.q, random);
  return {files[0] + (files.size() == 1 ? "" : " …"), std::move(tensors)};
}

StepRun run_steps(const io::Algorithm& algorithm, Subject subject, const io::Schedule& schedule) {
  check_steppable(algorithm, subject.tensors.problem, schedule);
  StepRun run = {&algorithm, std::move(subject), schedule, {}, {}, {}};
  const AttendTensors& in = run.subject.tensors;
  Results out = allocate(in);
  const io::RunTensors tensors = {in.inputs(),
                                  {out.o.data(), out.lse.data()},
                                  in.cotangents(),
                                  {out.dq.data(), out.dk.data(), out.dv.data(), nullptr, nullptr}};
  if (algorithm.backward) io::run(io::find_algorithm("fa2_forward"), in.problem, tensors);
  io::StepRecorder recorder;
  io::RunOptions options = {schedule};
  options.listener = &recorder;
  run.report = io::run(algorithm, in.problem, tensors, options);
  run.steps = recorder.steps();
  if (run.steps.empty())
    throw InputError(
        "the tensors (--input) have no token, so there is no step to show: pass at least one");
  sum_up(run);
  return run;
}

}  // namespace flashbook::step
