#include "walkthrough/bench/peer_team.hpp"

#include <fstream>
#include <stdexcept>

namespace flashbook::bench {
namespace {

using conformance::Output;
using conformance::Results;
using Json = nlohmann::json;
namespace fs = std::filesystem;

void write(const fs::path& file, const void* data, std::size_t bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!out.flush()) throw std::runtime_error(file.string() + " cannot be written");
}

void read(const fs::path& file, void* data, std::size_t bytes) {
  std::ifstream in(file, std::ios::binary);
  in.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
  if (static_cast<std::size_t>(in.gcount()) != bytes || in.peek() != EOF)
    throw std::runtime_error(file.string() + " has not the size of the tensor");
}

Output judged_of(Pass pass) {
  return pass == Pass::forward ? Output::O : Output::dQ;
}

/// Of Q, and of all others but the LSE.
std::size_t tensor_bytes(const Task& task) {
  const Shape& s = task.shape;
  return static_cast<std::size_t>(s.batch * s.heads * s.n * s.d * bytes_of(task.problem.dtype()));
}

class Peer : public Contestant {
 public:
  Peer(Dialogue& peers, const Task& task, std::string name, fs::path file)
      : peers_(peers), task_(task), name_(std::move(name)), file_(std::move(file)) {}
  ~Peer() override {
    try {
      peers_.ask({{"do", "drop"}, {"name", name_}});
    } catch (const std::runtime_error&) {  // it has stopped: nothing is left to drop
    }
  }

  double seconds() override {
    return peers_.ask({{"do", "time"}, {"name", name_}}).at("seconds").get<double>();
  }
  const Results& results(Results& room) override {
    peers_.ask({{"do", "result"}, {"name", name_}, {"file", file_.string()}});
    void* to = task_.pass == Pass::forward ? room.outputs().o : room.gradients().q;
    read(file_, to, tensor_bytes(task_));
    fs::remove(file_);
    return room;
  }

 private:
  Dialogue& peers_;
  Task task_;
  std::string name_;
  fs::path file_;
};

/// Gives the peers a problem; the names of those that there are.
Json set_problem(Dialogue& peers, const Task& task) {
  const Shape& s = task.shape;
  return peers
      .ask({{"do", "problem"},
            {"pass", name(task.pass)},
            {"batch", s.batch},
            {"heads", s.heads},
            {"n", s.n},
            {"d", s.d},
            {"causal", s.causal},
            {"sets", rotated_sets(4 * tensor_bytes(task))}})
      .at("names");
}

class PeerProducts : public Repeated {
 public:
  explicit PeerProducts(Dialogue& peers) : peers_(peers) {}
  double seconds() override {
    return peers_.ask({{"do", "time"}, {"name", "gemm"}}).at("seconds").get<double>();
  }

 private:
  Dialogue& peers_;
};

}  // namespace

PeerTeam::PeerTeam(const std::string& python, const fs::path& script, const Tensors& tensors,
                   DType dtype, std::int64_t elements, const std::vector<std::string>& words)
    : folder_(fs::is_directory("/dev/shm") ? "/dev/shm" : fs::path()) {
  const auto bytes = static_cast<std::size_t>(elements * bytes_of(dtype));
  const Inputs inputs = tensors.inputs();
  write(folder_.path() / "q", inputs.q, bytes);
  write(folder_.path() / "k", inputs.k, bytes);
  write(folder_.path() / "v", inputs.v, bytes);
  write(folder_.path() / "do", tensors.cotangents().o, bytes);
  std::vector<std::string> command = {python, "-B", script.string()};
  command.insert(command.end(), words.begin(), words.end());
  peers_ = std::make_unique<Dialogue>(command);
  versions_ = peers_->ask({{"do", "begin"}, {"folder", folder_.path()}, {"dtype", name(dtype)}})
                  .at("versions")
                  .get<std::string>();
}

std::vector<Entry> PeerTeam::enter(const Task& task, const Wanted& wanted) try {
  std::vector<Entry> entries;
  for (const std::string name : set_problem(*peers_, task)) {
    if (!wanted(name)) continue;
    Entry entry = {name, {}, {judged_of(task.pass)}, nullptr, {}};
    entry.properties.materialised = name == "torch.math";
    if (task.shape.packed) {
      entry.why_not = "takes no packed batch here";
      entries.push_back(std::move(entry));
      continue;
    }
    try {
      peers_->ask({{"do", "prepare"}, {"name", name}});
      entry.contestant = std::make_unique<Peer>(*peers_, task, name, folder_.path() / "result");
    } catch (const std::runtime_error& error) {
      entry.why_not = error.what();
    }
    entries.push_back(std::move(entry));
  }
  return entries;
} catch (const std::runtime_error& error) {  // it has stopped, or its GPU context is lost
  std::vector<Entry> entries;
  entries.push_back({"torch", {}, {}, nullptr, error.what()});
  return entries;
}

Gemm PeerTeam::gemm() {
  const Json product = peers_->ask({{"do", "prepare"}, {"name", "gemm"}});
  return {std::make_unique<PeerProducts>(*peers_), product.at("flops").get<double>()};
}

}  // namespace flashbook::bench
