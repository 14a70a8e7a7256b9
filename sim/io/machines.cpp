#include "sim/io/machines.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::io {
namespace {

constexpr Index KiB = 1024, MiB = 1024 * KiB;
constexpr double G = 1e9, T = 1e12;

const std::array all_gpus = {
    Gpu{"A100",
        "NVIDIA's A100 white paper (clock: 2,048 FLOPs a clock and SM), DRAM of the 80 GB SXM card "
        "(40 GB: 1.555 TB/s); exp2 by the CUDA C++ Programming Guide; not checked here",
        108, 164 * KiB, 40 * MiB, 2.039 * T, 312 * T, 19.5 * T, 1.41 * G, 16},
    Gpu{"RTX 4080",
        "NVIDIA's Ada white paper (clock: 512 FLOPs a clock and SM), fp32 accumulation; exp2 by "
        "the CUDA C++ Programming Guide; not checked here",
        76, 100 * KiB, 64 * MiB, .717 * T, 97.5 * T, 48.7 * T, 2.505 * G, 16},
    Gpu{"H100",
        "SXM5, FA3 (arXiv 2407.08608) and NVIDIA's H100 white paper (clock: 4,096 FLOPs a clock "
        "and SM; fp32 peaks at 1.98 GHz)",
        132, 228 * KiB, 50 * MiB, 3.35 * T, 989 * T, 67 * T, 1.83 * G, 16},
    Gpu{"H200",
        "SMs and L2 as CUDA reports them; peaks and clock as the H100's, DRAM by NVIDIA's data "
        "sheet; we measured copies at 4.24-4.27 TB/s and matrix products at 767-788 TFLOP/s",
        132, 228 * KiB, 60 * MiB, 4.8 * T, 989 * T, 67 * T, 1.83 * G, 16},
    Gpu{"B200",
        "FA4 (arXiv 2603.05451) for tensor cores and exp2; DRAM, L2, fp32 (75-80) and the clock "
        "(8,192 FLOPs a clock and SM make the peak) not checked here",
        148, 228 * KiB, 126 * MiB, 8 * T, 2250 * T, 75 * T, 1.856 * G, 16},
};

constexpr std::array all_fields = {
    GpuField{"multiprocessors", "streaming multiprocessors", &Gpu::multiprocessors},
    GpuField{"sram_bytes", "shared memory of a multiprocessor", &Gpu::sram_bytes},
    GpuField{"l2_bytes", "L2 cache of the GPU", &Gpu::l2_bytes, true},
    GpuField{"dram_bytes_per_s", "DRAM bandwidth", &Gpu::dram_bytes_per_s},
    GpuField{"tensor_flops_per_s", "fp16 and bf16 tensor cores, dense", &Gpu::tensor_flops_per_s},
    GpuField{"fp32_flops_per_s", "fp32 outside the tensor cores", &Gpu::fp32_flops_per_s},
    GpuField{"clock_hz", "clock of a multiprocessor", &Gpu::clock_hz},
    GpuField{"exp2_per_clock", "exp2 of a multiprocessor, a clock", &Gpu::exp2_per_clock},
};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != ' ' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::span<const Gpu> gpus() {
  return all_gpus;
}

std::span<const GpuField> gpu_fields() {
  return all_fields;
}

bool same_name(std::string_view a, std::string_view b) {
  return plain(a) == plain(b);
}

const Gpu* find_gpu(std::string_view name) {
  for (const Gpu& gpu : all_gpus)
    if (same_name(gpu.name, name)) return &gpu;
  return nullptr;
}

namespace {

/// Times made of anything between are finite and can be drawn.
constexpr double least_value = 1e-3, most_value = 1e24;

/// What a terminal, an SVG and a table can hold.
void check_text(const char* what, const std::string& text, std::size_t longest) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f;
  });
  if (is_plain && text.size() <= longest) return;
  throw InputError(std::string("a machine's ") + what + " has " + std::to_string(text.size()) +
                   " bytes: pass at most " + std::to_string(longest) +
                   " printable ASCII characters");
}

}  // namespace

void check(const Gpu& gpu) {
  if (plain(gpu.name).empty()) throw InputError("a machine's name is empty: give it one");
  check_text("name", gpu.name, 24);
  check_text("source", gpu.source, 400);
  if (gpu.source.empty())
    throw InputError("machine " + gpu.name + ": source is empty: say where its numbers come from");
  for (const GpuField& field : all_fields) {
    const double value =
        std::visit([&](auto member) { return static_cast<double>(gpu.*member); }, field.member);
    const bool is_plausible = value >= least_value && value <= most_value;
    if (is_plausible || (value == 0 && field.may_be_unknown)) continue;
    std::ostringstream out;
    out << "machine " << gpu.name << ": " << field.name << " is " << value << ": pass the "
        << field.meaning << ", a number from " << least_value << " to " << most_value;
    throw InputError(out.str());
  }
}

}  // namespace flashbook::io
