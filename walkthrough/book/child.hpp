#pragma once

#include <string>
#include <vector>

namespace flashbook::book {

/// A program that has ended.
struct Child {
  int status;          ///< its exit status, or 128 plus the signal that ended it
  std::string output;  ///< what it printed on stdout and stderr
};

/// Runs the program named by the first word, found as a shell would, with nothing to read. Throws
/// std::runtime_error if it cannot be started.
Child run_child(std::vector<std::string> words);

}  // namespace flashbook::book
