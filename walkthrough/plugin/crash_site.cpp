#include "walkthrough/plugin/crash_site.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace flashbook::plugin {
namespace {

constexpr std::uintptr_t reach = std::uintptr_t{16} << 20;  // of HostDevice's closed pages
constexpr std::uintptr_t first_page = 4096;                 // where a null pointer's elements are

}  // namespace

CrashSite::Shared* CrashSite::watched = nullptr;

CrashSite::CrashSite() {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared{};
}

CrashSite::~CrashSite() {
  ::munmap(shared_, sizeof(Shared));
}

/// The system says no address for one that cannot exist, nor for a signal that somebody sent.
void CrashSite::note_fault(int signal, siginfo_t* info, void*) {
  if (info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR) {
    watched->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    watched->has_faulted = true;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // it ends the process when this function returns
}

void CrashSite::watch() {
  watched = shared_;
  struct sigaction action = {};
  action.sa_sigaction = note_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
}

void CrashSite::clear() {
  shared_->count = 0;
}

void CrashSite::add(const Place& place) {
  if (shared_->count < shared_->places.size()) shared_->places[shared_->count++] = place;
}

/// The worker may have written anything here.
std::string CrashSite::text() const {
  const Shared site = *shared_;
  if (!site.has_faulted) return "";
  if (site.address < first_page) return ", at a null pointer";
  const auto end = site.places.begin() + std::min(site.count, site.places.size());
  const auto nearest =
      std::min_element(site.places.begin(), end, [&](const Place& a, const Place& b) {
        return a.distance(site.address) < b.distance(site.address);
      });
  if (nearest == end || nearest->distance(site.address) > reach) return "";
  return ", " + nearest->text(site.address);
}

}  // namespace flashbook::plugin
