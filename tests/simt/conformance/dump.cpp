#include "tests/simt/conformance/dump.hpp"

#include <iomanip>
#include <istream>
#include <ostream>
#include <stdexcept>

namespace flashbook::probes {

void write(std::ostream& out, const Result& result) {
  out << "probe " << result.probe << " " << std::dec << result.words.size() << std::hex;
  for (std::size_t i = 0; i < result.words.size(); ++i)
    out << (i % 16 ? " " : "\n") << result.words[i];
  out << "\n";
}

void write(std::ostream& out, const Dump& dump) {
  out << "device " << dump.device << "\n";
  for (const Result& result : dump.results) write(out, result);
  for (const std::string& probe : dump.failed) out << "failed " << probe << "\n";
}

void read_results(std::istream& in, Dump& dump) {
  std::string word;
  while (in >> word) {
    if (word == "failed" && in >> word) {
      dump.failed.push_back(word);
      continue;
    }
    Result result;
    std::size_t size = 0;
    if (word != "probe" || !(in >> result.probe >> std::dec >> size) || size > 1u << 20)
      throw std::runtime_error("a dump of probes that breaks off at '" + word + "'");
    result.words.resize(size);
    for (std::uint32_t& x : result.words)
      if (!(in >> std::hex >> x)) throw std::runtime_error("probe " + result.probe + " breaks off");
    dump.results.push_back(std::move(result));
  }
}

Dump read_dump(std::istream& in) {
  Dump dump;
  std::string word;
  if (!(in >> word) || word != "device") throw std::runtime_error("no dump of probes");
  std::getline(in >> std::ws, dump.device);
  read_results(in, dump);
  return dump;
}

}  // namespace flashbook::probes
