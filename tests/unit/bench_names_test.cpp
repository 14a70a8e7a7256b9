// Who is meant by `bench --impl`.
#include "walkthrough/bench/names.hpp"

#include <doctest/doctest.h>

#include "cpu_reference/error.hpp"

namespace flashbook::bench {
namespace {

bool means(const std::string& globs, Pass pass, const std::string& impl) {
  const Names names(globs, emulated_pairs());
  return names.wanted(pass)(impl);
}

TEST_CASE("a kernel is named with or without cuda. and its machine, others as they are") {
  for (const char* glob : {"one_pass", "cuda.one_pass", "cuda.one_pass@gpu", "one*", "*",
                           "fa1,one_pass", "cuda.*@gpu"}) {
    CAPTURE(std::string(glob));
    CHECK(means(glob, Pass::forward, "cuda.one_pass@gpu"));
  }
  for (const char* glob : {"one_pass@cpu", "cuda.one_pass@cpu", "one", "", "three_kernel"}) {
    CAPTURE(std::string(glob));
    CHECK_FALSE(means(glob, Pass::forward, "cuda.one_pass@gpu"));
  }
  CHECK(means("torch.*", Pass::forward, "torch.cudnn"));
  CHECK_FALSE(means("cudnn", Pass::forward, "torch.cudnn"));
}

TEST_CASE("backward, a pair's name stands for its backward kernel, and for no other") {
  for (const char* glob : {"three_kernel", "tensor_core", "cuda.tensor_core", "cuda.fa2@gpu"}) {
    CAPTURE(std::string(glob));
    CHECK(means(glob, Pass::backward, "cuda.three_kernel@gpu"));
    CHECK_FALSE(means(glob, Pass::backward, "cuda.standard@gpu"));
    CHECK_FALSE(means(glob, Pass::backward, "torch.cudnn"));
    CHECK_FALSE(means(glob, Pass::backward, "io.fa2"));
  }
  CHECK(means("standard", Pass::backward, "cuda.standard@gpu"));
  CHECK_FALSE(means("standard", Pass::backward, "cuda.three_kernel@gpu"));
}

TEST_CASE("each backward kernel is there once, though many pairs have it") {
  CHECK(kernel_names(emulated_pairs(), Pass::backward, Machine::gpu) ==
        std::vector<std::string>{"cuda.standard@gpu", "cuda.three_kernel@gpu"});
  CHECK(kernel_names(emulated_pairs(), Pass::forward, Machine::cpu).size() ==
        emulated_pairs().size());
}

TEST_CASE("a name that nobody has is refused, with those there are; torch needs --peers") {
  const std::vector<std::pair<Pass, std::string>> all = {{Pass::forward, "cuda.standard@gpu"},
                                                         {Pass::backward, "cuda.standard@gpu"},
                                                         {Pass::backward, "cuda.three_kernel@gpu"}};
  const auto refusal = [&](const std::string& globs, bool has_peers) -> std::string {
    try {
      Names(globs, emulated_pairs()).check(all, has_peers);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal("standard,three_kernel,tensor_core", false).empty());
  CHECK(refusal("standard,torch.cudnn", true).empty());
  CHECK(refusal("standard,three_kernels", true) ==
        "--impl has 'three_kernels': nobody of that name takes part; pass some of standard, "
        "three_kernel, torch.*, or the name of a pair that 'list' shows");
  CHECK(refusal("torch.cudnn", false).find("torch.* needs --peers") != std::string::npos);
}

}  // namespace
}  // namespace flashbook::bench
