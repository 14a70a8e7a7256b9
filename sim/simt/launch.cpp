#include "sim/simt/launch.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/simt/cluster.hpp"

namespace flashbook::simt {
namespace {

/// Clusters that no launch uses: their stacks and tables serve the next one.
class Pool {
 public:
  std::unique_ptr<Cluster> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Cluster>();
    auto taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  void give_back(std::unique_ptr<Cluster> one) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Cluster>> free_;
};

Pool& pool() {
  static Pool all;
  return all;
}

std::string refusal(const LaunchShape& shape) {
  const std::uint64_t threads = shape.block.size();
  if (threads == 0 || threads > max_block_threads)
    return "a block of " + std::to_string(threads) + " threads; 1 to " +
           std::to_string(max_block_threads) + " are possible";
  if (shape.grid.size() == 0 || shape.grid.size() >= 1ull << 31 || shape.grid.y > 65535 ||
      shape.grid.z > 65535)
    return "a grid of " + std::to_string(shape.grid.size()) +
           " blocks; 1 to 2^31 - 1 are possible, of which 65535 in y and z";
  if (shape.shared_bytes > max_shared_bytes)
    return std::to_string(shape.shared_bytes) + " bytes of shared memory; a block has at most " +
           std::to_string(max_shared_bytes);
  if (shape.cluster == 0 || shape.cluster > max_cluster_blocks || shape.grid.x % shape.cluster)
    return "clusters of " + std::to_string(shape.cluster) + " of the grid's " +
           std::to_string(shape.grid.x) + " blocks in x; 1 to " +
           std::to_string(max_cluster_blocks) + " are possible, and must divide the grid";
  return "";
}

unsigned worker_count(const LaunchShape& shape, const Options& options) {
  if (shape.float_atomics) return 1;
  const unsigned wanted =
      options.os_threads ? options.os_threads : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::min<std::uint64_t>(wanted, shape.grid.size() / shape.cluster));
}

void add_conflict(Report& report, const LaunchShape& shape, unsigned seed,
                  const GlobalShadow::Conflict& c) {
  report.add({Category::block_race, c.what, c.site, c.other_site, shape.kernel,
              shape.grid.at(c.block), c.block, 0, seed});
}

/// The same order whichever OS thread found what.
void sort_findings(Report& report) {
  const auto key = [](const Finding& f) {
    return std::tuple(f.block_number, site_of(f.site).line, site_of(f.other).line, f.category);
  };
  std::sort(report.findings.begin(), report.findings.end(),
            [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
}

}  // namespace

Report launch(const LaunchShape& shape, const Options& options,
              const std::function<void()>& thread) {
  Report report;
  if (std::string reason = refusal(shape); !reason.empty()) {
    report.add({Category::invalid, std::move(reason), 0, 0, shape.kernel, {}, 0, 0, 0});
    return report;
  }

  std::vector<std::unique_ptr<Cluster>> workers(worker_count(shape, options));
  std::atomic<std::uint64_t> next_block = 0;
  std::atomic<bool> stopped = false;
  std::mutex progress_mutex;
  std::uint64_t done = 0;
  const auto work = [&](std::unique_ptr<Cluster>& worker) {
    worker = pool().take();
    worker->begin(shape, options);
    const auto next = [&] { return next_block.fetch_add(shape.cluster); };
    for (std::uint64_t b = next(); b < shape.grid.size() && !stopped; b = next()) {
      if (!worker->run(b, thread)) stopped = true;
      if (!options.progress) continue;
      const std::lock_guard lock(progress_mutex);
      options.progress(done += shape.cluster, shape.grid.size());
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < workers.size(); ++i)
    others.emplace_back([&, i] { work(workers[i]); });
  work(workers[0]);
  for (std::thread& other : others) other.join();

  GlobalShadow& all = workers[0]->block(0).global;
  for (auto& worker : workers)
    for (unsigned rank = 0; rank < shape.cluster; ++rank) {
      Multiprocessor& block = worker->block(rank);
      report.add(std::move(block.findings));
      if (&block.global == &all) continue;
      all.merge(block.global, [&](const GlobalShadow::Conflict& conflict) {
        add_conflict(report, shape, options.seed, conflict);
      });
    }
  for (auto& worker : workers) pool().give_back(std::move(worker));
  sort_findings(report);
  return report;
}

}  // namespace flashbook::simt
