// Runs every probe on the machine this is compiled for.
#pragma once

#include <stdexcept>

#include "tests/simt/conformance/children.hpp"
#include "tests/simt/conformance/inputs.hpp"
#include "tests/simt/conformance/probes.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Launches probes and keeps what they gave. A launch that fails throws std::runtime_error with the
/// probe's name, but for probes that must fail.
/// Memory gives the machine's memory: upload(words) and zeros(n) return a pointer to 32-bit words
/// that lives as long as the Memory, download(pointer, n) the words there.
template <class Memory>
class ProbeLauncher {
 public:
  /// Of a reporter only those probes run that it wants.
  ProbeLauncher(Memory& memory, void* stream, flashbook::probes::Reporter* reporter = nullptr)
      : memory_(memory), stream_(stream), reporter_(reporter) {}

  /// Of the probes so far, those that failed as they must.
  const std::vector<std::string>& failed() const { return failed_; }

 protected:
  using Words = flashbook::probes::Words;

  static int size(const Words& words) { return static_cast<int>(words.size()); }

  /// Whether the probe is to run; then it starts its kernel and ends.
  bool begin(const std::string& name) {
    name_ = name;
    return !reporter_ || reporter_->begin(name);
  }
  /// Of the shape, everything but the name.
  template <class... Arguments, class... Given>
  void start(void (*kernel)(Arguments...), LaunchShape shape, const Given&... arguments) {
    shape.kernel = name_.c_str();
    shape.float_atomics = true;
    require(launch(shape, stream_, kernel, arguments...));
    require(synchronize(stream_));
  }
  void require(const LaunchStatus& status) const {
    if (!status.ok()) throw std::runtime_error(name_ + ": " + status.error);
  }
  /// The probe gave the n words there.
  void end(const uint32_t* words, int n) {
    results_.push_back({name_, memory_.download(words, n)});
    if (reporter_) reporter_->end(results_.back());
  }

  /// Runs a probe that no machine completes. With a reporter the failure is the child's end.
  template <class Probe>
  void must_fail(Probe probe) {
    try {
      probe();
    } catch (const std::runtime_error&) {
      if (reporter_) throw;
      failed_.push_back(name_);
    }
  }

  Memory& memory_;
  std::vector<flashbook::probes::Result> results_;

 private:
  void* stream_;
  flashbook::probes::Reporter* reporter_;
  std::string name_;
  std::vector<std::string> failed_;
};

template <class Memory>
class ProbeRun : public ProbeLauncher<Memory> {
 public:
  using ProbeLauncher<Memory>::ProbeLauncher;

  std::vector<flashbook::probes::Result> all() {
    namespace inputs = flashbook::probes;
    run("ids", probes::ids, {{2, 1, 3}, {4, 2, 2}}, {}, 16, 6 * 16 * 12);
    const auto operands = inputs::shuffle_operands(), masks = inputs::vote_masks();
    run("shuffles", probes::shuffles, one_warp, operands, size(operands), size(operands) * 128);
    run("votes", probes::votes, one_warp, masks, size(masks), size(masks) * 96);
    run("ldmatrix", probes::ldmatrix, {{1}, {32}, sizeof(probes::MatrixSmem)},
        inputs::random_words(32 * 32, 3), 0, 28 * 32);
    multiply<half>("fp16", inputs::Type::fp16);
    multiply<bfloat16>("bf16", inputs::Type::bf16);
    const auto exponents = inputs::exp2_operands(), numbers = inputs::conversion_operands();
    run("exp2", probes::exp2, one_warp, exponents, size(exponents), size(exponents));
    run("convert_fp16", probes::convert<half>, one_warp, numbers, size(numbers), 2 * size(numbers));
    run("convert_bf16", probes::convert<bfloat16>, one_warp, numbers, size(numbers),
        2 * size(numbers));
    run("copies", probes::copies, {{1}, {32}, sizeof(probes::CopySmem)},
        inputs::random_words(512, 4), 0, 224);
    run("barriers", probes::barriers, {{1}, {128}, sizeof(probes::BarrierSmem)},
        inputs::random_words(128, 7), 0, 128);
    add_atomically();
    return results_;
  }

 private:
  using Base = ProbeLauncher<Memory>;
  using Base::begin, Base::end, Base::memory_, Base::results_, Base::size, Base::start;
  using typename Base::Words;
  struct Shape {
    GridShape grid, block;
    std::size_t shared_bytes = 0;
  };
  static constexpr Shape one_warp = {{1}, {32}};

  void run(const std::string& name, void (*kernel)(probes::Parameters), const Shape& shape,
           const Words& in, int n, int words_out) {
    if (!begin(name)) return;
    uint32_t* out = memory_.zeros(words_out);
    start(kernel, {"", shape.grid, shape.block, shape.shared_bytes},
          probes::Parameters{{memory_.upload(in), size(in)}, {out, words_out}, n});
    end(out, words_out);
  }

  template <class T>
  void multiply(const std::string& type_name, flashbook::probes::Type type) {
    using flashbook::probes::Values;
    for (const auto& [values, name] :
         {std::pair(Values::integers, "_integers"), std::pair(Values::random, "_random")}) {
      const auto products = flashbook::probes::make_products(type, values);
      run("mma_" + type_name + name, probes::mma<T>, one_warp, fragments_of(products, type),
          static_cast<int>(products.size()), static_cast<int>(products.size()) * 128);
    }
  }

  void add_atomically() {
    if (!begin("atomics")) return;
    const int sums = 5;
    const Words in = flashbook::probes::small_integers(64, 8);
    uint32_t* out = memory_.zeros(sums);
    const gmem<float> as_floats(reinterpret_cast<float*>(out), sums);
    start(probes::atomics, {"", {3}, {128}},
          probes::Parameters{{memory_.upload(in), size(in)}, {out, sums}, sums}, as_floats);
    end(out, sums);
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE
