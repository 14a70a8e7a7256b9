#include "sim/simt/launch.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
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

std::string refusal(const LaunchShape& shape, const Options& options) {
  const std::uint64_t threads = shape.block.size();
  if (threads == 0 || threads > max_block_threads)
    return "a block of " + std::to_string(threads) + " threads; 1 to " +
           std::to_string(max_block_threads) + " are possible";
  if (shape.grid.size() == 0 || shape.grid.size() >= 1ull << 31 || shape.grid.y > 65535 ||
      shape.grid.z > 65535)
    return "a grid of " + std::to_string(shape.grid.size()) +
           " blocks; 1 to 2^31 - 1 are possible, of which 65535 in y and z";
  if (shape.shared_bytes > options.shared_bytes)
    return std::to_string(shape.shared_bytes) + " bytes of shared memory; a block has at most " +
           std::to_string(options.shared_bytes);
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

/// One launch, on several OS threads.
class Launch {
 public:
  Launch(const LaunchShape& shape, const Options& options, const std::function<void()>& thread)
      : shape_(shape), options_(options), thread_(thread), workers_(worker_count(shape, options)) {}

  /// Runs all blocks. Rethrows the first exception.
  Report run() {
    std::vector<std::thread> others;
    try {
      for (std::size_t i = 1; i < workers_.size(); ++i)
        others.emplace_back([this, i] { work(workers_[i]); });
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are do all the work.
    }
    work(workers_[0]);
    for (std::thread& other : others) other.join();
    if (thrown_) std::rethrow_exception(thrown_);
    return collect();
  }

 private:
  using Worker = std::unique_ptr<Cluster>;

  void work(Worker& worker) {
    try {
      worker = pool().take();
      worker->begin(shape_, options_);
      run_blocks(*worker);
    } catch (...) {  // may not leave an OS thread
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
      stopped_ = true;
    }
  }

  void run_blocks(Cluster& worker) {
    const auto next = [&] { return next_block_.fetch_add(shape_.cluster); };
    for (std::uint64_t b = next(); b < shape_.grid.size() && !stopped_; b = next()) {
      if (!worker.run(b, thread_)) stopped_ = true;
      if (!options_.progress) continue;
      const std::lock_guard lock(mutex_);
      options_.progress(done_ += shape_.cluster, shape_.grid.size());
    }
  }

  void collect(Multiprocessor& block, Report& report) {
    report.add(std::move(block.findings));
    GlobalShadow& all = workers_[0]->block(0).global;
    if (&block.global == &all) return;
    all.merge(block.global, [&](const GlobalShadow::Conflict& conflict) {
      add_conflict(report, shape_, options_.seed, conflict);
    });
  }

  /// What all workers found, and what their shadows of global memory tell about each other's.
  Report collect() {
    Report report;
    for (Worker& worker : workers_)
      for (unsigned rank = 0; worker && rank < shape_.cluster; ++rank)
        collect(worker->block(rank), report);
    for (Worker& worker : workers_)
      if (worker) pool().give_back(std::move(worker));
    sort_findings(report);
    return report;
  }

  const LaunchShape& shape_;
  const Options& options_;
  const std::function<void()>& thread_;
  std::vector<Worker> workers_;
  std::atomic<std::uint64_t> next_block_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  // of what follows
  std::uint64_t done_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace

Report launch(const LaunchShape& shape, const Options& options,
              const std::function<void()>& thread) {
  if (std::string reason = refusal(shape, options); !reason.empty()) {
    Report report;
    report.add({Category::invalid, std::move(reason), 0, 0, shape.kernel, {}, 0, 0, 0});
    return report;
  }
  return Launch(shape, options, thread).run();
}

}  // namespace flashbook::simt
