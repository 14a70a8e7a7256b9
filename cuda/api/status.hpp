// Exceptions inside, status codes outside.
#pragma once

#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "cpu_reference/error.hpp"
#include "cuda/api/flashbook.h"

namespace flashbook {

/// Thrown inside a function of the C interface: what it is to return.
class StatusError : public std::runtime_error {
 public:
  StatusError(flashbook_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  flashbook_status status() const { return status_; }

 private:
  flashbook_status status_;
};

/// Copies as much as a caller's message holds; `message` may be null.
inline void write_message(char* message, const std::string& text) {
  if (!message) return;
  const std::size_t size = text.copy(message, FLASHBOOK_MESSAGE_SIZE - 1);
  message[size] = '\0';
}

/// Calls `work()` and returns the status of what it throws, whose text becomes the message.
template <class Work>
int status_of(char* message, Work&& work) noexcept {
  flashbook_status status = FLASHBOOK_OK;
  try {
    work();
  } catch (const StatusError& error) {
    status = error.status();
    write_message(message, error.what());
  } catch (const InputError& error) {
    status = FLASHBOOK_INVALID;
    write_message(message, error.what());
  } catch (const std::bad_alloc&) {
    status = FLASHBOOK_OUT_OF_MEMORY;
    write_message(message, "there is not enough memory for this problem");
  } catch (const std::exception& error) {
    status = FLASHBOOK_FAILED;
    write_message(message, error.what());
  }
  return status;
}

}  // namespace flashbook
