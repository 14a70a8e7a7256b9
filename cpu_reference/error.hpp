// The one exception for what a user can put right.
#pragma once

#include <stdexcept>

namespace flashbook {

/// Bad input or usage. what() is one sentence that names the argument or file, the value, what is
/// accepted and what to do; the command line prints it and exits with status 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace flashbook
