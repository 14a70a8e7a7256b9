#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "walkthrough/plugin/python_process.hpp"

namespace flashbook::plugin {

/// What a module raised, and the frames of its traceback, which are none if a result is to blame.
struct PythonError : std::runtime_error {
  PythonError(const std::string& what, std::string its_frames)
      : std::runtime_error(what), frames(std::move(its_frames)) {}
  std::string frames;
};

/// A Python module's attention, computed by run_python.py in a process of its own: tensors go there
/// contiguous, through a pipe, and come back so. One call at a time.
class PythonAttention : public Implementation {
 public:
  /// Throws InputError that names the file and what is wrong with it.
  explicit PythonAttention(const std::string& path);

  bool has_forward() const { return says_["forward"]; }
  std::string name() const override { return says_["name"]; }
  Properties properties() const override;
  Support supports_forward(const AttentionProblem& problem) const override;
  Support supports_backward(const AttentionProblem& problem) const override;
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;

 private:
  /// A tensor [4 axes] in this process: what is sent, or where an answer goes.
  struct Tensor {
    std::string name, dtype;
    std::array<std::int64_t, 4> sizes, strides;
    void* data;
  };

  Support support(const char* pass, const AttentionProblem& problem) const;
  std::vector<Tensor> read_by(const AttentionProblem& problem, const Inputs& inputs) const;
  void call(const char* pass, const AttentionProblem& problem, std::span<const Tensor> sent,
            std::span<const Tensor> wanted) const;

  PythonProcess python_;
  nlohmann::json says_;  // of itself
};

}  // namespace flashbook::plugin
