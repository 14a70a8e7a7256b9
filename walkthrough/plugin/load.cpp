#include "walkthrough/plugin/load.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "cuda/api/host_device.hpp"
#include "cuda/api/machine.hpp"
#include "cuda/api/table_attention.hpp"
#include "walkthrough/plugin/python_attention.hpp"
#include "walkthrough/plugin/refused.hpp"

namespace flashbook::plugin {
namespace fs = std::filesystem;
namespace {

constexpr const char* symbol = "flashbook_plugin";

const flashbook_implementation* table_of(const std::string& path, const std::string& file) {
  // With a slash, or it would be looked for where the system's libraries are.
  void* const library = ::dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw refused(path, std::string("it cannot be loaded (") + ::dlerror() +
                            "): build it with -shared -fPIC");
  void* const found = ::dlsym(library, symbol);
  if (!found)
    throw refused(path, std::string("it exports no ") + symbol +
                            ": define that function, in C++ as extern \"C\"");
  const auto* table = reinterpret_cast<decltype(&flashbook_plugin)>(found)();
  if (!table) throw refused(path, std::string(symbol) + " returned null: return your table");
  return table;
}

/// The memory of one call, which a crash names.
class NotedDevice : public HostDevice {
 public:
  explicit NotedDevice(CrashSite& site) : site_(site) { site_.clear(); }
  void note(const Place& place) override { site_.add(place); }

 private:
  CrashSite& site_;
};

/// Its tensors' memory.
TableAttention::MakeDevice devices_of(const flashbook_implementation& table, CrashSite& site) {
  if (table.memory == FLASHBOOK_CUDA) return gpu_device;
  return [&site] { return std::make_unique<NotedDevice>(site); };
}

Loaded from_library(const std::string& path, const std::string& file, CrashSite& site) {
  const flashbook_implementation& table = *table_of(path, file);
  try {
    check_table(table);
  } catch (const InputError& error) {
    throw refused(path, std::string("in its table, ") + error.what());
  }
  const bool on_gpu = table.memory == FLASHBOOK_CUDA;
  if (on_gpu)
    if (const Gpu gpu = find_gpu(); !gpu.missing.empty())
      throw refused(path,
                    "its tensors lie in GPU memory, and there is no GPU for them here: run it "
                    "where there is one, or let the emulator run the kernel (\"Without a GPU\" in "
                    "docs/your_kernel.md)");
  return {std::make_unique<TableAttention>(table, devices_of(table, site)),
          table.forward != nullptr, on_gpu};
}

}  // namespace

Loaded load(const std::string& path, const std::string& library, CrashSite& site) {
  if (fs::path(path).extension() != ".py") return from_library(path, library, site);
  auto python = std::make_unique<PythonAttention>(path);
  const bool has_forward = python->has_forward();
  return {std::move(python), has_forward, false};
}

}  // namespace flashbook::plugin
