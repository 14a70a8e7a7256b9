// What a C program finds by name.
#include <list>
#include <string>
#include <vector>

#include "cpu_reference/standard.hpp"
#include "cuda/api/exported.hpp"
#include "cuda/api/flashbook.h"
#include "cuda/api/kernel_table.hpp"

namespace flashbook {
namespace {

class Tables {
 public:
  Tables() {
    for (const ExportedTable* each : {&exported_oracle_, &exported_standard_})
      all_.push_back(&each->table());
    add(emulated_pairs(), Machine::cpu);
    add(gpu_pairs(), Machine::gpu);
  }
  const std::vector<const flashbook_implementation*>& all() const { return all_; }

 private:
  void add(std::span<const KernelPair> pairs, Machine machine) {
    for (const KernelPair& pair : pairs)
      all_.push_back(&kernels_.emplace_back(pair, machine).table());
  }

  Oracle oracle_;
  StandardAttention standard_;
  ExportedTable exported_oracle_{oracle_}, exported_standard_{standard_};
  std::list<KernelTable> kernels_;  // which do not move
  std::vector<const flashbook_implementation*> all_;
};

const std::vector<const flashbook_implementation*>& tables() {
  static const Tables tables;
  return tables.all();
}

}  // namespace
}  // namespace flashbook

size_t flashbook_count(void) {
  return flashbook::tables().size();
}

const flashbook_implementation* flashbook_at(size_t index) {
  return flashbook::tables()[index];
}

const flashbook_implementation* flashbook_find(const char* name) {
  for (const flashbook_implementation* each : flashbook::tables())
    if (name && std::string(each->name) == name) return each;
  return nullptr;
}

flashbook_problem flashbook_dense_problem(int64_t batch, int64_t heads_q, int64_t heads_kv,
                                          int64_t n_q, int64_t n_k, int64_t d, int64_t d_v) {
  return flashbook::dense_problem(batch, heads_q, heads_kv, n_q, n_k, d, d_v);
}
